import { FIRST_YEAR, LAST_YEAR } from "./calendar.ts";
import type { BitSet, CronFields, DayRule } from "./fields.ts";

/** A fault of one field, in the words of cronexpr where it has some. */
export class FieldFault extends Error {
  readonly item: string;

  constructor(message: string, item: string) {
    super(message);
    this.item = item;
  }
}

interface FieldSpec {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Lower-case names, three letters or full, with their values. */
  readonly names?: ReadonlyMap<string, number>;
}

function nameMap(names: string, first: number): ReadonlyMap<string, number> {
  const map = new Map<string, number>();
  for (const [i, name] of names.split(" ").entries()) map.set(name, i + first).set(name.slice(0, 3), i + first);
  return map;
}

const SECOND: FieldSpec = { name: "second", min: 0, max: 59 };
const MINUTE: FieldSpec = { name: "minute", min: 0, max: 59 };
const HOUR: FieldSpec = { name: "hour", min: 0, max: 23 };
const DOM: FieldSpec = { name: "day-of-month", min: 1, max: 31 };
const MONTH: FieldSpec = {
  name: "month",
  min: 1,
  max: 12,
  names: /* @__PURE__ */ nameMap(
    "january february march april may june july august september october november december",
    1,
  ),
};
const DOW: FieldSpec = {
  name: "day-of-week",
  min: 0,
  max: 6,
  names: /* @__PURE__ */ nameMap("sunday monday tuesday wednesday thursday friday saturday", 0),
};
const YEAR: FieldSpec = { name: "year", min: FIRST_YEAR, max: LAST_YEAR };

/** The value of a number or name, or −1. Weekdays also answer 7. */
function valueOf(spec: FieldSpec, text: string): number {
  const named = spec.names?.get(text.toLowerCase());
  if (named !== undefined) return named;
  if (!(spec === YEAR ? /^\d{4}$/ : /^\d{1,2}$/).test(text)) return -1;
  const value = Number(text);
  return value >= spec.min && value <= (spec === DOW ? 7 : spec.max) ? value : -1;
}

function fault(spec: FieldSpec, item: string): FieldFault {
  return new FieldFault(`syntax error in ${spec.name} field: '${item}'`, item);
}

/** Whether an item stands for the whole range. */
function isStar(item: string): boolean {
  return item === "*" || item === "?";
}

/** Adds the values of one plain item (`*`, `v`, `a-b`, each with `/s`) by calling `add`. */
function parseItem(spec: FieldSpec, item: string, add: (value: number) => void): void {
  const slash = item.indexOf("/");
  const body = slash < 0 ? item : item.slice(0, slash);
  let step = 1;
  if (slash >= 0) {
    const text = item.slice(slash + 1);
    step = (spec === YEAR ? /^\d{1,4}$/ : /^\d{1,2}$/).test(text) ? Number(text) : 0;
    if (step < 1 || step > spec.max) throw new FieldFault(`invalid interval ${item}`, item);
  }
  const dash = body.indexOf("-");
  let from = spec.min;
  let to = spec.max;
  if (dash >= 0) {
    from = valueOf(spec, body.slice(0, dash));
    to = valueOf(spec, body.slice(dash + 1));
    if (from < 0 || to < 0) throw fault(spec, item);
    // Weekdays form a circle in which 7 is Sunday; 0-7 is the whole week.
    if (spec === DOW) {
      to = from === 0 && to === 7 ? 6 : (from % 7) + ((to - from + 14) % 7);
      from %= 7;
    }
  } else if (!(slash < 0 ? isStar(body) : body === "*")) {
    from = valueOf(spec, body);
    if (from < 0) throw fault(spec, item);
    if (spec === DOW) from %= 7;
    if (slash < 0) to = from;
  }
  if (to < from) throw fault(spec, item);
  for (let value = from; value <= to; value += step) add(value);
}

const MAX_PARSED = 500;

/** Remembers what texts of one kind of field parsed to. Schedules of a fleet are much alike, and the results never change. */
function memoized<T>(parse: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    let result = known.get(text);
    if (result === undefined) {
      result = parse(text);
      if (known.size >= MAX_PARSED) known.clear();
      known.set(text, result);
    }
    return result;
  };
}

function parseBits(spec: FieldSpec, text: string): BitSet {
  const bits = { low: 0, high: 0 };
  for (const item of text.split(",")) {
    parseItem(spec, item, (value) => {
      if (value < 32) bits.low |= 1 << value;
      else bits.high |= 1 << (value - 32);
    });
  }
  return bits;
}

function parseYears(text: string): Uint8Array | null {
  const list = text.split(",");
  const years = new Uint8Array(LAST_YEAR - FIRST_YEAR + 1);
  for (const item of list) parseItem(YEAR, item, (year) => (years[year - FIRST_YEAR] = 1));
  return list.some(isStar) ? null : years;
}

function parseDom(text: string) {
  const rule = { domRestricted: true, dom: 0, last: false, lastWeekday: false, nearestWeekday: 0 };
  for (const item of text.split(",")) {
    const lower = item.toLowerCase();
    if (lower === "l") rule.last = true;
    else if (lower === "lw") rule.lastWeekday = true;
    else if (lower.endsWith("w")) {
      const day = valueOf(DOM, item.slice(0, -1));
      if (day < 0) throw fault(DOM, item);
      rule.nearestWeekday |= 1 << (day - 1);
    } else {
      if (isStar(item)) rule.domRestricted = false;
      parseItem(DOM, item, (day) => (rule.dom |= 1 << (day - 1)));
    }
  }
  return rule;
}

function parseDow(text: string) {
  const rule = { dowRestricted: true, dow: 0, dowLast: 0, dowNth: [0, 0, 0, 0, 0, 0] };
  for (const item of text.split(",")) {
    const [, name = "", mark, k] = /^(.+?)(?:(l)|#([1-5]))$/i.exec(item) ?? [];
    const value = mark === undefined && k === undefined ? -1 : valueOf(DOW, name);
    if (value >= 0) {
      const bit = 1 << (value % 7);
      if (k === undefined) rule.dowLast |= bit;
      else (rule.dowNth as number[])[Number(k)] = (rule.dowNth[Number(k)] as number) | bit;
    } else {
      if (isStar(item)) rule.dowRestricted = false;
      parseItem(DOW, item, (day) => (rule.dow |= 1 << (day % 7)));
    }
  }
  return rule;
}

/** Texts of second, minute, hour, day-of-month, month, day-of-week, year. */
export type SevenFields = readonly [string, string, string, string, string, string, string];

/**
 * Parses the seven fields second, minute, hour, day-of-month, month, day-of-week, year.
 * @throws FieldFault for the first field that is not understood
 */
export function parseFields(texts: SevenFields): CronFields {
  const [second, minute, hour, dom, month, dow, year] = texts;
  return {
    second: parseSecond(second),
    minute: parseMinute(minute),
    hour: parseHour(hour),
    hourWild: isStar(hour.charAt(0)),
    day: parseDays(`${dom} ${dow}`),
    month: parseMonth(month),
    years: year === "*" ? null : parseYear(year),
  };
}

const parseSecond = /* @__PURE__ */ memoized((text) => parseBits(SECOND, text));
const parseMinute = /* @__PURE__ */ memoized((text) => parseBits(MINUTE, text));
const parseHour = /* @__PURE__ */ memoized((text) => parseBits(HOUR, text));
const parseMonth = /* @__PURE__ */ memoized((text) => parseBits(MONTH, text));
const parseYear = /* @__PURE__ */ memoized(parseYears);
const parseDays = /* @__PURE__ */ memoized((text): DayRule => {
  const [dom, dow] = text.split(" ") as [string, string];
  return { ...parseDom(dom), ...parseDow(dow), months: new Int32Array(28).fill(-1) };
});
