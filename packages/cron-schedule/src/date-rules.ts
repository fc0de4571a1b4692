import { civilDate, dayNumber, daysInMonth, FIRST_YEAR, LAST_YEAR } from "./calendar.ts";
import { ScheduleError } from "./schedule-error.ts";

/**
 * Local dates: `2026-12-25`, every year `12-25`, or a range `2026-12-24..2027-01-02` (both ends included; yearly ranges such
 * as `12-24..01-02` may cross the new year).
 * @public
 */
export type DateRule = string;

/** A set of day numbers as sorted intervals that do not touch. */
export class DaySet {
  readonly #from: readonly number[];
  readonly #to: readonly number[];

  constructor(intervals: readonly (readonly [from: number, to: number])[]) {
    const from: number[] = [];
    const to: number[] = [];
    for (const [a, b] of [...intervals].sort((x, y) => x[0] - y[0])) {
      const last = to.at(-1);
      if (last !== undefined && a <= last + 1) to[to.length - 1] = Math.max(last, b);
      else {
        from.push(a);
        to.push(b);
      }
    }
    this.#from = from;
    this.#to = to;
  }

  /** Index of the first interval that ends at or after `day`. */
  #index(day: number): number {
    let low = 0;
    let high = this.#to.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#to[middle] as number) < day) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first member ≥ `day`, or Infinity. */
  next(day: number): number {
    return Math.max(day, this.#from[this.#index(day)] ?? Infinity);
  }

  /** The last member ≤ `day`, or −Infinity. */
  previous(day: number): number {
    const i = this.#index(day);
    return (this.#from[i] ?? Infinity) <= day ? day : (this.#to[i - 1] ?? -Infinity);
  }

  /** The first non-member ≥ `day`. */
  nextOutside(day: number): number {
    const i = this.#index(day);
    const from = this.#from[i];
    return from !== undefined && from <= day ? (this.#to[i] as number) + 1 : day;
  }

  /** The last non-member ≤ `day`. */
  previousOutside(day: number): number {
    const from = this.#from[this.#index(day)] ?? Infinity;
    return from <= day ? from - 1 : day;
  }
}

const FORM = /^(?:(\d{4})-)?(\d{2})-(\d{2})(?:\.\.(?:(\d{4})-)?(\d{2})-(\d{2}))?$/;

/** Longest list of rules; keeps work bounded for any input. */
const MAX_RULES = 400;

/** Compiles `except` or `extra`. Undefined for none. */
export function parseDateRules(field: string, rules: readonly DateRule[] | undefined): DaySet | undefined {
  if (rules === undefined) return undefined;
  if (!Array.isArray(rules) || rules.length > MAX_RULES) {
    throw new ScheduleError("date-rule", field, rules, `${field} must be a list of at most ${MAX_RULES} dates`);
  }
  const intervals: [number, number][] = [];
  for (const [i, rule] of (rules as readonly unknown[]).entries()) addRule(`${field}[${i}]`, rule, intervals);
  return intervals.length === 0 ? undefined : new DaySet(intervals);
}

function addRule(field: string, rule: unknown, intervals: [number, number][]): void {
  const bad = (why: string): ScheduleError => new ScheduleError("date-rule", field, rule, `${field}: ${why}`);
  const match = typeof rule === "string" ? FORM.exec(rule) : null;
  if (match === null) throw bad("want YYYY-MM-DD or MM-DD, or a range of them with '..'");
  const [, year1, month1, day1, year2, month2, day2] = match;
  const range = month2 !== undefined;
  if (range && (year1 === undefined) !== (year2 === undefined)) throw bad("both ends of a range need a year, or none");
  const from = { month: Number(month1), day: Number(day1) };
  const to = range ? { month: Number(month2), day: Number(day2) } : from;
  // 2000 is a leap year, so 02-29 is fine as a yearly date.
  for (const [date, year] of [
    [from, year1],
    [to, year2 ?? year1],
  ] as const) {
    if (date.month < 1 || date.month > 12 || date.day < 1 || date.day > daysInMonth(Number(year ?? 2000), date.month)) {
      throw bad("no such date");
    }
  }
  const turnsYear = to.month < from.month || (to.month === from.month && to.day < from.day);
  const first = year1 === undefined ? FIRST_YEAR - 1 : Number(year1);
  const last = year1 === undefined ? LAST_YEAR + 1 : first;
  for (let year = first; year <= last; year++) {
    const endYear = year2 !== undefined ? Number(year2) : year + (year1 === undefined && turnsYear ? 1 : 0);
    const a = validDay(year, from, 1);
    const b = validDay(endYear, to, -1);
    if (b < a) {
      // A yearly 02-29 in a common year is nothing; a dated range that ends before it starts is a mistake.
      if (year1 !== undefined) throw bad("the range ends before it starts");
    } else intervals.push([a, b]);
  }
}

/** The day number; 29 February of a common year moves inwards, to the neighbour in direction `inwards`. */
function validDay(year: number, date: { readonly month: number; readonly day: number }, inwards: 1 | -1): number {
  const over = date.day > daysInMonth(year, date.month);
  return over ? dayNumber(year, 3, 1) - (inwards === 1 ? 0 : 1) : dayNumber(year, date.month, date.day);
}

/** `2026-12-25`. */
export function isoDate(day: number): string {
  const { year, month, day: d } = civilDate(day);
  return `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}-${String(d).padStart(2, "0")}`;
}
