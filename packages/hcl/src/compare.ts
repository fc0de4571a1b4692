import { HclNumber } from "./number.ts";
import type { Value, ValueMap } from "./value.ts";

/** Order of strings by code point, which is their order as UTF-8. */
export const compareText = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // A surrogate belongs to a character above all others of one unit.
    const high = (c: number): boolean => c >= 0xd800 && c <= 0xdfff;
    if (high(x) !== high(y)) return high(x) ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
};

/** Order of numbers, exactly. */
export const compareNumber = (a: number | HclNumber, b: number | HclNumber): number => {
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === "number" && !Number.isFinite(a)) return a > 0 ? 1 : -1;
  if (typeof b === "number" && !Number.isFinite(b)) return b > 0 ? -1 : 1;
  return HclNumber.of(a).compare(HclNumber.of(b));
};

export const isNumber = (v: unknown): v is number | HclNumber => typeof v === "number" || v instanceof HclNumber;

export const isMap = (v: Value): v is ValueMap => v instanceof Map;

export const isList = (v: Value): v is readonly Value[] => Array.isArray(v);

/** Deep equality; the order of a map's keys does not matter. Values of different kinds are different. */
export const valuesEqual = (a: Value, b: Value): boolean => {
  if (a === b) return true;
  if (isNumber(a) && isNumber(b)) return compareNumber(a, b) === 0;
  if (isList(a) && isList(b)) return a.length === b.length && a.every((x, i) => valuesEqual(x, b[i] as Value));
  if (!isMap(a) || !isMap(b) || a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !valuesEqual(value, other)) return false;
  }
  return true;
};

/** A text that is equal for equal values, for looking up many. */
export const valueKey = (v: Value): string => {
  if (typeof v === "string") return JSON.stringify(v);
  if (isNumber(v)) return `#${String(v)}`;
  if (isList(v)) return `[${v.map(valueKey).join()}]`;
  if (isMap(v))
    return `{${sortedEntries(v)
      .map(([k, x]) => `${JSON.stringify(k)}:${valueKey(x)}`)
      .join()}}`;
  return String(v);
};

/** Entries of a map in the order of their keys: the order of iteration in the language. */
export const sortedEntries = (m: ValueMap): [string, Value][] => [...m].sort((a, b) => compareText(a[0], b[0]));

/** Equal values once; strings and numbers in their order, anything else as they come. */
export const toSet = (items: readonly Value[]): Value[] => {
  const seen = new Map<string, Value>();
  for (const item of items) {
    const key = valueKey(item);
    if (!seen.has(key)) seen.set(key, item);
  }
  const set = [...seen.values()];
  if (set.every((v) => typeof v === "string")) return (set as string[]).sort(compareText);
  return set.every(isNumber) ? set.sort(compareNumber) : set;
};
