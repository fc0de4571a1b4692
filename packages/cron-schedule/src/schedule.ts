import { describeSchedule } from "./describe.ts";
import { instant } from "./instant.ts";
import type { ScheduleIssue } from "./issue.ts";
import { lintRules } from "./lint.ts";
import { localText } from "./local-text.ts";
import type { Window } from "./parse-window.ts";
import { ENDLESS_MS, type Probe } from "./probe.ts";
import { toNomadWindow } from "./to-nomad.ts";
import type { ScheduleSpec } from "./spec.ts";
import type { WindowRule } from "./window-rule.ts";

/** Answer of {@link Schedule.evaluate}. @public */
export interface Evaluation {
  readonly inWindow: boolean;
  /** Start of the first window after `now`; null for never, and while an endless window is open. */
  readonly nextStart: Date | null;
  /** End of the open window, else of the one at `nextStart`; null for never or for more than 800 days on. */
  readonly nextEnd: Date | null;
}

/** A window of the preview. @public */
export interface WindowPreview {
  readonly start: Date;
  readonly end: Date;
  /** Wall time with offset in the zone of the (first) window: `2026-03-08T03:00:00-04:00`. */
  readonly localStart: string;
  readonly localEnd: string;
  readonly durationMs: number;
  /**
   * The clock changes within the window or at one of its edges: `gap`, a time is skipped (the window is shorter, or an edge
   * moved to the jump); `repeat`, a time comes twice (the window is longer, or an edge is at the first of two readings).
   */
  readonly dst?: "gap" | "repeat";
}

/** Limits of {@link Schedule.windows}. @public */
export interface PreviewOptions {
  /** Most windows to list. Default endless: the list is lazy. */
  readonly count?: number | undefined;
  /** Windows that start at this instant or later are not listed. */
  readonly until?: Date | number | undefined;
}

/** No window ends later: 2110-01-01. */
const AFTER_ALL = 4_417_977_600_000;

/** How far back the beginning of an open or a past window is sought, one span after the other. */
const LOOK_BACK_MS: readonly number[] = [2, 40, 800, 8000, 55_000].map((days) => days * 86_400_000);

/**
 * When something may run: an immutable set of windows. Answers depend on the instant given and on nothing else, neither on
 * the clock nor on the zone of the host (apart from windows in the zone `Local`). Instants before 1972 are not supported.
 * @public
 */
export class Schedule {
  readonly #probe: Probe;
  readonly #rules: readonly WindowRule[];
  readonly #downtime: readonly WindowRule[];
  readonly #spec: ScheduleSpec;
  readonly #localZone: string | undefined;
  /** The latest answer holds from `#memoFrom` to before `#memoEdge`. */
  #memoFrom = Infinity;
  #memoEdge = -Infinity;
  #memoOn = false;
  #memoNext = Infinity;

  /** @internal Use {@link parseSchedule}. */
  constructor(
    probe: Probe,
    rules: readonly WindowRule[],
    downtime: readonly WindowRule[],
    spec: ScheduleSpec,
    localZone: string | undefined,
  ) {
    this.#probe = probe;
    this.#rules = rules;
    this.#downtime = downtime;
    this.#spec = spec;
    this.#localZone = localZone;
  }

  /** Names of the zones, in the order of the windows. */
  get timezones(): readonly string[] {
    return [...new Set(this.#rules.map((rule) => rule.zone.name))];
  }

  /** Whether `now` is in a window, and the next edges. Windows that overlap or touch count as one. */
  evaluate(now: Date | number): Evaluation {
    this.#look(instant("now", now));
    const [start, end] = this.#memoOn ? [this.#memoNext, this.#memoEdge] : [this.#memoEdge, this.#memoNext];
    return {
      inWindow: this.#memoOn,
      nextStart: start === Infinity ? null : new Date(start),
      nextEnd: end === Infinity ? null : new Date(end),
    };
  }

  /** Whether `now` is in a window. */
  isOpen(now: Date | number): boolean {
    this.#look(instant("now", now));
    return this.#memoOn;
  }

  /** The next window that starts after `now`, or null. */
  next(now: Date | number): WindowPreview | null {
    const t = instant("now", now);
    for (const window of this.windows(t)) if (window.start.getTime() > t) return window;
    return null;
  }

  /** The last window that ended at or before `now`, or null. */
  previous(now: Date | number): WindowPreview | null {
    const t = Math.min(instant("now", now), AFTER_ALL);
    for (const span of LOOK_BACK_MS) {
      let found: WindowPreview | null = null;
      let opened: number | undefined;
      for (let at = Math.max(0, t - span), s = this.#probe.at(at); s.edge <= t; s = this.#probe.at(at)) {
        if (s.on && opened !== undefined) found = this.#preview(opened, s.edge);
        at = s.edge;
        opened = s.on ? undefined : at;
      }
      if (found !== null) return found;
    }
    return null;
  }

  /**
   * The windows that end after `from`, in order, the open one included with its true start. Lazy. A window that stays open
   * for more than 800 days is not listed, and ends the list.
   */
  *windows(from: Date | number, options: PreviewOptions = {}): IterableIterator<WindowPreview> {
    const { count = Infinity } = options;
    const until = options.until === undefined ? Infinity : instant("until", options.until);
    let at = instant("from", from);
    let start = this.#startOf(at);
    for (let listed = 0; listed < count; listed++) {
      if (start === undefined) {
        start = this.#probe.at(at).edge;
        at = start;
      }
      if (start >= until) return;
      const end = this.#probe.at(at).edge;
      if (end - start > ENDLESS_MS) return;
      yield this.#preview(start, end);
      at = end;
      start = undefined;
    }
  }

  /** The schedule in English, for example `from 09:30 to 16:00 on Monday to Friday (America/New_York)`. */
  describe(): string {
    return describeSchedule(this.#rules, this.#downtime, this.#spec);
  }

  /** Warnings about what is valid and yet surprising in the years after `now` (default 5). */
  lint(now: Date | number, options: { readonly years?: number | undefined } = {}): ScheduleIssue[] {
    return lintRules(this.#rules, instant("now", now), options.years ?? 5);
  }

  /** The window as Nomad's `schedule` block writes it. Throws a {@link ScheduleError} `not-nomad` if Nomad cannot express it. */
  toNomad(): Window {
    return toNomadWindow(this.#spec, this.#localZone);
  }

  #look(t: number): void {
    if (t >= this.#memoFrom && t < this.#memoEdge) return;
    const { on, edge } = this.#probe.at(t);
    this.#memoFrom = t;
    this.#memoOn = on;
    this.#memoEdge = on && edge - t > ENDLESS_MS ? Infinity : edge;
    const next = this.#memoEdge === Infinity ? Infinity : this.#probe.at(edge).edge;
    this.#memoNext = !on && next - edge > ENDLESS_MS ? Infinity : next;
  }

  /** The beginning of the window that is open at `t`; undefined if none is. */
  #startOf(t: number): number | undefined {
    if (!this.#probe.at(t).on) return undefined;
    for (const span of LOOK_BACK_MS) {
      let start: number | undefined;
      let at = Math.max(0, t - span);
      for (let s = this.#probe.at(at); s.edge <= t; s = this.#probe.at(at)) {
        at = s.edge;
        start = s.on ? undefined : at;
      }
      if (start !== undefined) return start;
    }
    // Open since before anything that can be asked for.
    return 0;
  }

  #preview(start: number, end: number): WindowPreview {
    const [rule] = this.#rules as readonly [WindowRule, ...WindowRule[]];
    const dst = this.#clockChange(start, end);
    return {
      start: new Date(start),
      end: new Date(end),
      localStart: localText(rule.zone, start),
      localEnd: localText(rule.zone, end),
      durationMs: end - start,
      ...(dst && { dst }),
    };
  }

  #clockChange(start: number, end: number): "gap" | "repeat" | undefined {
    for (const { zone, start: opens, end: closes } of this.#rules) {
      for (const { at, before, after } of zone.jumps(start, end)) {
        const wall = (at + after) / 1000;
        // An edge that names the very time after a jump is where it would be without one.
        if ((at === start && opens.matches(wall)) || (at === end && closes.matches(wall))) continue;
        return after > before ? "gap" : "repeat";
      }
      for (const edge of [start, end]) {
        const jump = zone.jumpAfter(edge);
        if (jump && jump.after < jump.before && edge >= jump.at + jump.after - jump.before) return "repeat";
      }
    }
    return undefined;
  }
}
