import type { CronFields, DayRule } from "./fields.ts";
import { nextBit, type BitSet } from "./fields.ts";
import { FIRST_YEAR } from "./calendar.ts";
import type { ScheduleSpec } from "./spec.ts";
import type { WindowRule } from "./window-rule.ts";

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = " January February March April May June July August September October November December".split(" ");
const NTH = ["", "first", "second", "third", "fourth", "fifth"];
const two = (n: number): string => String(n).padStart(2, "0");

function members({ low, high }: BitSet): number[] {
  const list: number[] = [];
  for (let n = nextBit(low, high, 0); n >= 0; n = nextBit(low, high, n + 1)) list.push(n);
  return list;
}

/** Joins numbers; three or more in a row become `a to b`. */
function runs(list: readonly number[], name: (n: number) => string): string {
  const parts: string[] = [];
  for (let i = 0; i < list.length;) {
    let j = i;
    while (list[j + 1] === (list[j] as number) + 1) j++;
    if (j - i < 2) j = i;
    parts.push(name(list[i] as number) + (j > i ? ` to ${name(list[j] as number)}` : ""));
    i = j + 1;
  }
  return parts.join(", ");
}

/** Weekdays from Monday on, so that a weekend is one run. */
function weekdays(bits: number): string {
  const list = members({ low: bits, high: 0 }).map((day) => (day + 6) % 7);
  return runs(
    list.sort((a, b) => a - b),
    (n) => WEEKDAYS[(n + 1) % 7] as string,
  );
}

function times({ second, minute, hour }: CronFields): string {
  const hours = members(hour);
  const minutes = members(minute);
  const seconds = members(second);
  const tail =
    seconds.length === 1 && seconds[0] === 0
      ? ""
      : seconds.length === 60
        ? ", every second"
        : `, second ${runs(seconds, String)}`;
  if (hours.length * minutes.length <= 6) {
    return hours.flatMap((h) => minutes.map((m) => `${two(h)}:${two(m)}`)).join(", ") + tail;
  }
  const ofHour = hours.length === 24 ? "every hour" : `hours ${runs(hours, two)}`;
  const ofMinute = minutes.length === 60 ? "every minute" : `minute ${runs(minutes, two)}`;
  return `${ofMinute} of ${ofHour}${tail}`;
}

function days(day: DayRule): string {
  const parts: string[] = [];
  if (day.domRestricted) {
    const dates = members({ low: day.dom, high: 0 }).map((n) => n + 1);
    if (dates.length > 0) parts.push(`day ${runs(dates, String)} of the month`);
    if (day.last) parts.push("the last day of the month");
    if (day.lastWeekday) parts.push("the last weekday of the month");
    for (const n of members({ low: day.nearestWeekday, high: 0 }))
      parts.push(`the weekday nearest to day ${n + 1} of the month`);
  }
  if (day.dowRestricted) {
    if (day.dow !== 0) parts.push(weekdays(day.dow));
    for (const [k, bits] of day.dowNth.entries())
      if (bits !== 0) parts.push(`the ${NTH[k]} ${weekdays(bits)} of the month`);
    if (day.dowLast !== 0) parts.push(`the last ${weekdays(day.dowLast)} of the month`);
  }
  return parts.length === 0 ? "every day" : `on ${parts.join(" or ")}`;
}

/** The date fields: `on Monday to Friday in June`. */
function dates({ day, month, years }: CronFields): string {
  const months = members(month);
  let text = days(day);
  if (months.length < 12) text += ` in ${runs(months, (n) => MONTHS[n] as string)}`;
  if (years !== null) {
    const list = [...years.keys()].filter((i) => years[i] === 1);
    text += ` in ${runs(
      list.map((i) => i + FIRST_YEAR),
      String,
    )}`;
  }
  return text;
}

/** A cron expression in English: `at 09:30 on Monday to Friday`. */
export function describeFields(fields: CronFields): string {
  return `at ${times(fields)} ${dates(fields)}`;
}

function describeRule({ start, end, daily, zone }: WindowRule): string {
  const from = times(start.fields);
  const to = times(end.fields);
  if (!daily) return `from ${from} ${dates(start.fields)} to ${to} ${dates(end.fields)} (${zone.name})`;
  const nextDay = end.lastTime <= start.firstTime ? " the next day" : "";
  return `from ${from} to ${to}${nextDay} ${dates(start.fields)} (${zone.name})`;
}

/** A schedule in English. */
export function describeSchedule(
  rules: readonly WindowRule[],
  downtime: readonly WindowRule[],
  spec: ScheduleSpec,
): string {
  const all = (list: readonly WindowRule[]): string => list.map(describeRule).join(" and ");
  let text = `${spec.invert ? "closed " : ""}${all(rules)}`;
  if (spec.except?.length) text += `, not on ${spec.except.join(", ")}`;
  if (spec.extra?.length) text += `, also on ${spec.extra.join(", ")}`;
  if (downtime.length > 0) text += `, never ${all(downtime)}`;
  if (spec.jitter?.maxMs) text += `, opening up to ${spec.jitter.maxMs / 1000} s late`;
  return text;
}
