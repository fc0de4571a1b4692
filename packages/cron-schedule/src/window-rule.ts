import { DAY_S } from "./calendar.ts";
import { ClosingTimes } from "./closing-times.ts";
import type { Pattern } from "./pattern.ts";
import { ENDLESS_MS, type Probe, type State } from "./probe.ts";
import type { Zone } from "./zone.ts";

/** An instant together with the wall second that was reached there; inside a skipped hour several share one instant. */
interface Reached {
  readonly t: number;
  readonly wall: number;
}

/** Anything that knows its next wall second. */
interface WallTimes {
  next(wall: number): number;
}

const NEVER: Reached = { t: Infinity, wall: Infinity };

/**
 * One window in one zone: on from each match of `start` to the first match of `end` after it, by the wall clock.
 *
 * The wall clock is read as one that never goes back: a skipped time counts as reached at the jump, a repeated one at its
 * first occurrence. If the hour field of `start` is a wildcard, repeated times count again, since such a window follows
 * real time. Matches are found by calendar fields, never by scanning.
 */
export class WindowRule implements Probe {
  readonly zone: Zone;
  readonly start: Pattern;
  readonly end: Pattern;
  /** The end has no date fields, so no window is longer than a calendar day. */
  readonly daily: boolean;
  readonly #closing: ClosingTimes;
  /** How many days back a start may lie whose window is still open. */
  readonly #reachDays: number;

  constructor(zone: Zone, start: Pattern, end: Pattern, daily: boolean) {
    this.zone = zone;
    this.start = start;
    this.end = end;
    this.#closing = new ClosingTimes(start, end);
    this.daily = daily;
    this.#reachDays = daily ? 2 : Infinity;
  }

  at(t: number): State {
    return this.start.fields.hourWild ? this.#atRealTime(t) : this.#atHighWater(t);
  }

  #atHighWater(t: number): State {
    const { zone, start } = this;
    const closing = this.#closing;
    const now = Math.floor(zone.highWater(t) / 1000);
    const latest = start.previous(now, Math.floor(now / DAY_S) - this.#reachDays);
    if (latest !== -Infinity) {
      let close = closing.next(latest + 1);
      let edge = zone.firstInstant(close * 1000);
      if (edge > t) {
        // A window that opens in the same skipped hour in which this one closes goes on with it.
        for (
          let open = start.next(close);
          edge !== Infinity && zone.firstInstant(open * 1000) <= edge;
          open = start.next(close)
        ) {
          close = closing.next(open + 1);
          edge = zone.firstInstant(close * 1000);
        }
        return { on: true, edge: edge - t > ENDLESS_MS ? Infinity : edge };
      }
    }
    for (let open = start.next(now + 1); open !== Infinity;) {
      const close = closing.next(open + 1);
      const edge = zone.firstInstant(open * 1000);
      if (zone.firstInstant(close * 1000) > edge) return { on: false, edge };
      // Wholly inside a skipped hour.
      open = start.next(close);
    }
    return { on: false, edge: Infinity };
  }

  #atRealTime(t: number): State {
    const { start } = this;
    const closing = this.#closing;
    const now: Reached = { t, wall: Math.floor((t + this.zone.offsetAt(t)) / 1000) };
    const latest = this.#latestStart(now);
    if (latest !== undefined) {
      let close = this.#after(closing, latest);
      if (close.t > t) {
        for (
          let open = this.#from(start, close);
          close.t !== Infinity && open.t <= close.t;
          open = this.#from(start, close)
        ) {
          close = this.#after(closing, open);
        }
        return { on: true, edge: close.t - t > ENDLESS_MS ? Infinity : close.t };
      }
    }
    for (let open = this.#after(start, now); open.t !== Infinity;) {
      const close = this.#after(closing, open);
      if (close.t > open.t) return { on: false, edge: open.t };
      open = this.#from(start, close);
    }
    return { on: false, edge: Infinity };
  }

  /** The last start reached up to `now`, in the order of real time. */
  #latestStart(now: Reached): Reached | undefined {
    const { zone, start } = this;
    const floorDay = Math.floor(now.wall / DAY_S) - this.#reachDays;
    const wall = start.previous(now.wall, floorDay);
    const past = zone.jumpBefore(now.t);
    if (past !== undefined && past.after < past.before && wall * 1000 < past.at + past.after) {
      // Before the clock went back it had already shown later times.
      const shown = start.previous((past.at + past.before) / 1000 - 1, floorDay);
      return shown === -Infinity ? undefined : { t: shown * 1000 - past.before, wall: shown };
    }
    if (wall === -Infinity) return undefined;
    const t = zone.firstInstant(wall * 1000);
    const jump = zone.jumpAfter(t);
    // A repeated time was reached last at its second occurrence, unless that is still to come.
    const again = jump === undefined || jump.after > jump.before ? Infinity : wall * 1000 - jump.after;
    return { t: jump !== undefined && again >= jump.at && again <= now.t ? again : t, wall };
  }

  /** The first match that is reached at or after `from`. */
  #from(pattern: WallTimes, from: Reached): Reached {
    return this.#after(pattern, { t: from.t, wall: from.wall - 1 });
  }

  /** The first match that is reached after `from`. */
  #after(pattern: WallTimes, from: Reached): Reached {
    if (from.t === Infinity) return NEVER;
    const { zone } = this;
    const wall = pattern.next(from.wall + 1);
    const jump = zone.jumpAfter(from.t);
    if (jump !== undefined && jump.after < jump.before && wall * 1000 >= jump.at + jump.before) {
      // The clock goes back before it shows `wall`: times that it shows again come first.
      const again = pattern.next((jump.at + jump.after) / 1000);
      if (again * 1000 < jump.at + jump.before) return { t: again * 1000 - jump.after, wall: again };
    }
    const direct = wall * 1000 - zone.offsetAt(from.t);
    // Until the next change the clock runs evenly, also if it repeats; a time before `from.t` was skipped.
    if (direct >= from.t && direct < (jump?.at ?? from.t + DAY_S * 1000)) return { t: direct, wall };
    return { t: zone.firstInstant(wall * 1000), wall };
  }
}
