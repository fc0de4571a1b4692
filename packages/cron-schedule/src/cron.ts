import { describeFields } from "./describe.ts";
import type { ScheduleIssue } from "./issue.ts";
import type { Pattern } from "./pattern.ts";
import { instant } from "./instant.ts";
import type { Zone } from "./zone.ts";

const HOUR_MS = 3_600_000;

/** What happens at a change of the clock to patterns with fixed hours. @public */
export interface ClockChangePolicy {
  /** Times that a jump skips: `skip` (default, as Nomad) or `shift` to the moment of the jump. */
  readonly missing?: "skip" | "shift" | undefined;
  /** Times that come twice: run at `both` (default, as Nomad), at the `first` or at the `last`. */
  readonly repeated?: "first" | "last" | "both" | undefined;
}

/** Limits of {@link Cron.runs}. @public */
export interface RunsOptions {
  /** Most runs to list. Default endless: the list is lazy. */
  readonly count?: number | undefined;
  /** Runs at this instant or later are not listed. */
  readonly until?: Date | number | undefined;
}

/**
 * A cron expression in a time zone. Immutable; the answers depend on the instant given alone.
 * If the hour field is a wildcard the pattern follows real time, and the policy does not matter.
 * @public
 */
export class Cron {
  readonly expression: string;
  readonly timezone: string;
  /** What is valid and yet surprising. */
  readonly warnings: readonly ScheduleIssue[];
  readonly #pattern: Pattern;
  readonly #zone: Zone;
  readonly #shift: boolean;
  readonly #repeated: "first" | "last" | "both";

  /** @internal Use {@link parseCron}. */
  constructor(
    expression: string,
    pattern: Pattern,
    zone: Zone,
    policy: { readonly missing: "skip" | "shift"; readonly repeated: "first" | "last" | "both" },
    warnings: readonly ScheduleIssue[],
  ) {
    this.expression = expression;
    this.timezone = zone.name;
    this.warnings = warnings;
    this.#pattern = pattern;
    this.#zone = zone;
    const wild = pattern.fields.hourWild;
    this.#shift = !wild && policy.missing === "shift";
    this.#repeated = wild ? "both" : policy.repeated;
  }

  /** The first match strictly after `from`, or null if there is none up to the end of 2099. */
  next(from: Date | number): Date | null {
    const zone = this.#zone;
    const start = Math.floor(instant("from", from) / 1000) * 1000;
    for (let t = start; ;) {
      const offset = zone.offsetAt(t);
      let wall = Math.floor((t + offset) / 1000) + (t === start ? 1 : 0);
      const past = zone.jumpBefore(t);
      // The second reading of a repeated time does not count.
      if (past && this.#repeated === "first")
        wall = Math.max(wall, (past.at + Math.max(past.before, past.after)) / 1000);
      const match = this.#pattern.next(wall) * 1000;
      const jump = zone.jumpAfter(t);
      if (jump === undefined) {
        if (match === Infinity) return null;
        const near = match - offset;
        if (near - t >= 27 * HOUR_MS) t = zone.firstInstant(match) - 26 * HOUR_MS;
        // It may be the first of two readings if the clock goes back after it.
        else if (near > t && zone.jumpAfter(near) !== undefined) t = near;
        else return new Date(near);
        continue;
      }
      const { at, before, after } = jump;
      // With `last`, the first reading of a repeated time does not count.
      if (match < at + (this.#repeated === "last" ? Math.min(before, after) : before)) return new Date(match - offset);
      if (this.#shift && match < at + after) return new Date(at);
      t = at;
    }
  }

  /** The last match strictly before `from`, or null if there is none since 1970. */
  previous(from: Date | number): Date | null {
    const zone = this.#zone;
    for (let t = Math.ceil(instant("from", from) / 1000) * 1000 - 1000; ;) {
      const offset = zone.offsetAt(t);
      let wall = (t + offset) / 1000;
      const coming = zone.jumpAfter(t);
      if (coming && this.#repeated === "last") {
        wall = Math.min(wall, (coming.at + Math.min(coming.before, coming.after)) / 1000 - 1);
      }
      const match = this.#pattern.previous(wall) * 1000;
      const jump = zone.jumpBefore(t);
      if (jump === undefined) {
        if (match === -Infinity) return null;
        const near = match - offset;
        if (t - near >= 27 * HOUR_MS) t = zone.firstInstant(match) + 26 * HOUR_MS;
        // It may be the second of two readings if the clock went back before it.
        else if (near < t && zone.jumpBefore(near) !== undefined) t = near;
        else return new Date(near);
        continue;
      }
      const { at, before, after } = jump;
      if (match >= at + (this.#repeated === "first" ? Math.max(before, after) : after)) return new Date(match - offset);
      if (this.#shift && this.#pattern.previous((at + after) / 1000 - 1) * 1000 >= at + before) return new Date(at);
      t = at - 1000;
    }
  }

  /**
   * All matches strictly after `from`, in order and lazily: take as many as you want, or up to `count`, or those before `until`.
   */
  *runs(from: Date | number, options: RunsOptions = {}): IterableIterator<Date> {
    const { count = Infinity } = options;
    const until = options.until === undefined ? Infinity : instant("until", options.until);
    let run = this.next(from);
    for (let listed = 0; listed < count && run !== null && run.getTime() < until; listed++) {
      yield run;
      run = this.next(run);
    }
  }

  /** Whether the second of `at` is a match. */
  matches(at: Date | number): boolean {
    const second = Math.floor(instant("at", at) / 1000) * 1000;
    return this.next(second - 1000)?.getTime() === second;
  }

  /** The expression in English, for example `at 09:30 on Monday to Friday`. */
  describe(): string {
    return describeFields(this.#pattern.fields);
  }
}

/**
 * The earliest next match of several expressions; those that are exhausted do not count. Null if all are.
 * @public
 */
export function nextCron(crons: readonly Cron[], from: Date | number): Date | null {
  let earliest: Date | null = null;
  for (const cron of crons) {
    const next = cron.next(from);
    if (next !== null && (earliest === null || next < earliest)) earliest = next;
  }
  return earliest;
}
