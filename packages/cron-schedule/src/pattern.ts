import { civilDate, DAY_S, dayNumber, daysInMonth, FIRST_YEAR, LAST_YEAR, weekday } from "./calendar.ts";
import type { DaySet } from "./date-rules.ts";
import { type BitSet, type CronFields, type DayRule, nextBit, previousBit } from "./fields.ts";

/** All days of months, as bits of `1 << (day − 1)`. */
const ALL_DAYS = 0x7fff_ffff;

/** Days on which a pattern matches although its date fields do not, or does not although they do. */
export interface DayOverrides {
  readonly except?: DaySet | undefined;
  readonly extra?: DaySet | undefined;
}

/** The days of a month of `length` days that starts on weekday `first`, as bits. */
export function daysOf(rule: DayRule, first: number, length: number): number {
  const all = ALL_DAYS >>> (31 - length);
  let byDate = rule.dom & all;
  if (rule.last) byDate |= 1 << (length - 1);
  if (rule.lastWeekday) byDate |= 1 << (nearestWeekday(length, first, length) - 1);
  for (
    let n = nextBit(rule.nearestWeekday, 0, 0) + 1;
    n > 0 && n <= length;
    n = nextBit(rule.nearestWeekday, 0, n) + 1
  ) {
    byDate |= 1 << (nearestWeekday(n, first, length) - 1);
  }
  if (!rule.dowRestricted) return rule.domRestricted ? byDate : all;
  let byWeekday = 0;
  for (let day = 1; day <= length; day++) {
    const bit = 1 << ((first + day - 1) % 7);
    const nth = rule.dowNth[Math.ceil(day / 7)] as number;
    if ((rule.dow | nth | (day > length - 7 ? rule.dowLast : 0)) & bit) byWeekday |= 1 << (day - 1);
  }
  // Both restricted: either is enough, as in every cron since Vixie's.
  return rule.domRestricted ? byDate | byWeekday : byWeekday;
}

/** The weekday Monday–Friday nearest to day `n` that does not leave the month. */
function nearestWeekday(n: number, first: number, length: number): number {
  const dow = (first + n - 1) % 7;
  if (dow === 6) return n > 1 ? n - 1 : 3;
  if (dow === 0) return n < length ? n + 1 : n - 2;
  return n;
}

/**
 * A set of local wall times, searched by calendar fields and never by counting minutes. Wall times are seconds since
 * 1970-01-01T00:00:00 as if the wall clock were UTC.
 */
export class Pattern {
  readonly fields: CronFields;
  readonly #overrides: DayOverrides;
  readonly #lastDay: number;
  readonly #firstTime: number;
  readonly #lastTime: number;
  readonly #everyDay: boolean;

  /** `lastYear` bounds the search where the year field is open. */
  constructor(fields: CronFields, overrides: DayOverrides = {}, lastYear: number = LAST_YEAR) {
    this.fields = fields;
    this.#overrides = overrides;
    this.#lastDay = dayNumber(lastYear + 1, 1, 1) - 1;
    const { second, minute, hour, day, month, years } = fields;
    this.#firstTime = timeOf(hour, minute, second, nextBit, 0);
    this.#lastTime = timeOf(hour, minute, second, previousBit, 63);
    this.#everyDay =
      !day.domRestricted && !day.dowRestricted && years === null && month.low === 0x1ffe && !overrides.except;
  }

  /** Latest time of day that matches, in seconds. */
  get lastTime(): number {
    return this.#lastTime;
  }

  /** Earliest time of day that matches, in seconds. */
  get firstTime(): number {
    return this.#firstTime;
  }

  /** The smallest match ≥ `wall`, or Infinity. */
  next(wall: number): number {
    const from = Math.max(wall, 0);
    const day = Math.floor(from / DAY_S);
    let match = this.nextDay(day);
    if (match === day) {
      const time = this.#nextTime(from - day * DAY_S);
      if (time >= 0) return day * DAY_S + time;
      match = this.nextDay(day + 1);
    }
    return match * DAY_S + this.#firstTime;
  }

  /** The largest match ≤ `wall` that is not on a day before `floor`, or −Infinity. */
  previous(wall: number, floor = 0): number {
    const floorDay = Math.max(floor, 0);
    const day = Math.floor(wall / DAY_S);
    let match = this.previousDay(day, floorDay);
    if (match === day) {
      const time = this.#previousTime(wall - day * DAY_S);
      if (time >= 0) return day * DAY_S + time;
      match = this.previousDay(day - 1, floorDay);
    }
    return match * DAY_S + this.#lastTime;
  }

  /** Whether this very wall second matches. */
  matches(wall: number): boolean {
    return this.next(wall) === wall;
  }

  /** The first matching day ≥ `day`, or Infinity. */
  nextDay(day: number): number {
    if (this.#everyDay) return day <= this.#lastDay ? day : Infinity;
    const { except, extra } = this.#overrides;
    if (!except && !extra) return this.#nextByFields(day);
    for (let from = day; ;) {
      const match = Math.min(this.#nextByFields(from), extra?.next(from) ?? Infinity);
      from = except?.nextOutside(match) ?? match;
      if (from === match) return match <= this.#lastDay ? match : Infinity;
    }
  }

  /** The last matching day ≤ `day` and ≥ `floorDay`, or −Infinity. */
  previousDay(day: number, floorDay: number): number {
    const { except, extra } = this.#overrides;
    for (let from = Math.min(day, this.#lastDay); ;) {
      const match = this.#everyDay
        ? from
        : Math.max(this.#previousByFields(from, floorDay), extra?.previous(from) ?? -Infinity);
      if (match < floorDay) return -Infinity;
      from = except?.previousOutside(match) ?? match;
      if (from === match) return match;
    }
  }

  #nextByFields(day: number): number {
    if (day > this.#lastDay) return Infinity;
    const { month: months, years } = this.fields;
    const start = civilDate(day);
    let { year, month } = start;
    let first = day - start.day + 1;
    let keep = -1 << (start.day - 1);
    const lastYear = civilDate(this.#lastDay).year;
    for (;;) {
      if (years === null || years[year - FIRST_YEAR] === 1) {
        const length = daysInMonth(year, month);
        if (months.low & (1 << month)) {
          const days = this.#daysIn(first, length) & keep;
          if (days !== 0) return first + 31 - Math.clz32(days & -days);
        }
        const nextMonth = nextBit(months.low, 0, month + 1);
        if (nextMonth > 0) {
          first = nextMonth === month + 1 ? first + length : dayNumber(year, nextMonth, 1);
          month = nextMonth;
          keep = -1;
          continue;
        }
      }
      if (++year > lastYear) return Infinity;
      month = nextBit(months.low, 0, 1);
      first = dayNumber(year, month, 1);
      keep = -1;
    }
  }

  #previousByFields(day: number, floorDay: number): number {
    if (day < floorDay) return -Infinity;
    const { month: months, years } = this.fields;
    const start = civilDate(day);
    let { year, month } = start;
    let first = day - start.day + 1;
    let keep = ALL_DAYS >>> (31 - start.day);
    while (first + 30 >= floorDay) {
      if (years === null || years[year - FIRST_YEAR] === 1) {
        if (months.low & (1 << month)) {
          const days = this.#daysIn(first, daysInMonth(year, month)) & keep;
          if (days !== 0) return first + 31 - Math.clz32(days);
        }
        month = previousBit(months.low, 0, month - 1);
      } else month = -1;
      if (month < 0) {
        year--;
        month = previousBit(months.low, 0, 12);
      }
      first = dayNumber(year, month, 1);
      keep = -1;
    }
    return -Infinity;
  }

  #daysIn(first: number, length: number): number {
    const weekdayOfFirst = weekday(first);
    const key = weekdayOfFirst * 4 + length - 28;
    const { day } = this.fields;
    const known = day.months[key] as number;
    return known >= 0 ? known : (day.months[key] = daysOf(day, weekdayOfFirst, length));
  }

  #nextTime(time: number): number {
    const { second, minute, hour } = this.fields;
    const h = Math.floor(time / 3600);
    if (nextBit(hour.low, 0, h) === h) {
      const m = Math.floor((time % 3600) / 60);
      if (nextBit(minute.low, minute.high, m) === m) {
        const s = nextBit(second.low, second.high, Math.ceil(time % 60));
        if (s >= 0) return h * 3600 + m * 60 + s;
      }
      const later = nextBit(minute.low, minute.high, m + 1);
      if (later >= 0) return h * 3600 + later * 60 + (this.#firstTime % 60);
    }
    const later = nextBit(hour.low, 0, h + 1);
    return later < 0 ? -1 : later * 3600 + (this.#firstTime % 3600);
  }

  #previousTime(time: number): number {
    const { second, minute, hour } = this.fields;
    const h = Math.floor(time / 3600);
    if (previousBit(hour.low, 0, h) === h) {
      const m = Math.floor((time % 3600) / 60);
      if (previousBit(minute.low, minute.high, m) === m) {
        const s = previousBit(second.low, second.high, Math.floor(time % 60));
        if (s >= 0) return h * 3600 + m * 60 + s;
      }
      const earlier = previousBit(minute.low, minute.high, m - 1);
      if (earlier >= 0) return h * 3600 + earlier * 60 + (this.#lastTime % 60);
    }
    const earlier = previousBit(hour.low, 0, h - 1);
    return earlier < 0 ? -1 : earlier * 3600 + (this.#lastTime % 3600);
  }
}

function timeOf(hour: BitSet, minute: BitSet, second: BitSet, pick: typeof nextBit, from: number): number {
  return (
    pick(hour.low, hour.high, from) * 3600 +
    pick(minute.low, minute.high, from) * 60 +
    pick(second.low, second.high, from)
  );
}
