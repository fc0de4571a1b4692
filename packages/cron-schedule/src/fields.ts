/** A set of small numbers as bits, 0–31 in `low` and 32–63 in `high`. */
export interface BitSet {
  readonly low: number;
  readonly high: number;
}

/** The smallest member ≥ `from` (≥ 0), or −1. */
export function nextBit(low: number, high: number, from: number): number {
  if (from < 32) {
    const rest = low & (-1 << from);
    if (rest !== 0) return 31 - Math.clz32(rest & -rest);
    from = 32;
  }
  const rest = from < 64 ? high & (-1 << (from - 32)) : 0;
  return rest === 0 ? -1 : 63 - Math.clz32(rest & -rest);
}

/** The largest member ≤ `to` (≤ 63), or −1. */
export function previousBit(low: number, high: number, to: number): number {
  if (to >= 32) {
    const rest = high & (-1 >>> (63 - to));
    if (rest !== 0) return 63 - Math.clz32(rest);
    to = 31;
  }
  const rest = to >= 0 ? low & (-1 >>> (31 - to)) : 0;
  return rest === 0 ? -1 : 31 - Math.clz32(rest);
}

/** A cron expression after parsing. Bits are numbered like the values themselves. */
export interface CronFields {
  readonly second: BitSet;
  readonly minute: BitSet;
  readonly hour: BitSet;
  /** The hour field starts with `*` or `?`: the pattern follows real time through a repeated hour. */
  readonly hourWild: boolean;
  readonly month: BitSet;
  /** Years from 1970 on as flags; null for any. */
  readonly years: Uint8Array | null;
  readonly day: DayRule;
}

/** Which days of a month match. */
export interface DayRule {
  /** The day-of-month field has no bare star. */
  readonly domRestricted: boolean;
  /** Days 1–31. */
  readonly dom: number;
  /** `L`. */
  readonly last: boolean;
  /** `LW`. */
  readonly lastWeekday: boolean;
  /** n of each `nW`, as bits. */
  readonly nearestWeekday: number;
  readonly dowRestricted: boolean;
  /** Weekdays 0–6, as bits. */
  readonly dow: number;
  /** Weekdays of each `nL`, as bits. */
  readonly dowLast: number;
  /** For k = 1–5 at index k: the weekdays of `n#k`, as bits. */
  readonly dowNth: readonly number[];
  /** Matching days by shape of the month (7 first weekdays × 4 lengths), −1 while unknown. Filled by who asks. */
  readonly months: Int32Array;
}
