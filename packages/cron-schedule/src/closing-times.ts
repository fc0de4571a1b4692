import { DAY_S } from "./calendar.ts";
import { type BitSet, nextBit } from "./fields.ts";
import type { Pattern } from "./pattern.ts";

/** Days in a row without a closing time after which a window counts as endless; more than 800. */
const MAX_DAYS = 900;

const and = (a: BitSet, b: BitSet): BitSet => ({ low: a.low & b.low, high: a.high & b.high });
const without = (a: BitSet, b: BitSet): BitSet => ({ low: a.low & ~b.low, high: a.high & ~b.high });

/** The first of the hours and minutes ≥ `minuteOfDay`, or Infinity. */
function nextTime(hours: BitSet, minutes: BitSet, minuteOfDay: number): number {
  const first = nextBit(minutes.low, minutes.high, 0);
  if (first < 0) return Infinity;
  const hour = Math.floor(minuteOfDay / 60);
  if (nextBit(hours.low, 0, hour) === hour) {
    const minute = nextBit(minutes.low, minutes.high, minuteOfDay % 60);
    if (minute >= 0) return hour * 60 + minute;
  }
  const later = nextBit(hours.low, 0, hour + 1);
  return later < 0 ? Infinity : later * 60 + first;
}

/**
 * The times at which a window really closes: matches of `end` that are not matches of `start`, since a window that opens in
 * the minute in which it closes stays open. Found by days and sets, so that patterns of many touching windows cost no more.
 * Both patterns have second 0.
 */
export class ClosingTimes {
  readonly #start: Pattern;
  readonly #end: Pattern;
  readonly #otherHours: BitSet;
  readonly #sharedHours: BitSet;
  readonly #otherMinutes: BitSet;

  constructor(start: Pattern, end: Pattern) {
    this.#start = start;
    this.#end = end;
    this.#otherHours = without(end.fields.hour, start.fields.hour);
    this.#sharedHours = and(end.fields.hour, start.fields.hour);
    this.#otherMinutes = without(end.fields.minute, start.fields.minute);
  }

  /** The first closing time ≥ `wall` (seconds), or Infinity. */
  next(wall: number): number {
    let from = Math.ceil(wall / 60);
    for (let i = 0; i < MAX_DAYS; i++) {
      const day = this.#end.nextDay(Math.floor(from / 1440));
      if (day === Infinity) break;
      const minute = this.#nextOnDay(day, Math.max(0, from - day * 1440));
      if (minute !== Infinity) return day * DAY_S + minute * 60;
      from = (day + 1) * 1440;
    }
    return Infinity;
  }

  #nextOnDay(day: number, minuteOfDay: number): number {
    const { minute, hour } = this.#end.fields;
    if (this.#start.nextDay(day) !== day) return nextTime(hour, minute, minuteOfDay);
    return Math.min(
      nextTime(this.#otherHours, minute, minuteOfDay),
      nextTime(this.#sharedHours, this.#otherMinutes, minuteOfDay),
    );
  }
}
