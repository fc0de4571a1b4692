import { arithmetic, ordered } from "../arithmetic.ts";
import { isList, isMap, sortedEntries, valueKey, valuesEqual } from "../compare.ts";
import { convertValue, toText, typeName } from "../convert.ts";
import { type CallContext, FunctionError, type HclFunction } from "../eval-types.ts";
import { type HclNumber, parseNumber } from "../number.ts";
import { ANY, listOf, NUMBER, STRING } from "../types.ts";
import { unifyTypes, valueType } from "../unify.ts";
import type { Value, ValueMap } from "../value.ts";
import { fixed, param, variadic, whole } from "./define.ts";

const MAX_RANGE = 1024;
const any = (name: string): ReturnType<typeof param> => param(name, "dynamic");

const list = (args: readonly Value[], i: number): readonly Value[] => {
  const v = args[i] as Value;
  return isList(v) ? v : fail(`a list is required, but have ${typeName(v)}`, i);
};

const map = (args: readonly Value[], i: number): ValueMap => {
  const v = args[i] as Value;
  return v !== null && isMap(v) ? v : fail(`a map is required, but have ${typeName(v)}`, i);
};

const fail = (message: string, i?: number): never => {
  throw new FunctionError(message, i);
};

/** Converts values to the one type they have in common, where there is one. */
const unified = (values: readonly Value[], chosen: Value): Value => {
  const type = unifyTypes(values.map(valueType));
  const converted = type && convertValue(chosen, type);
  return converted?.ok ? converted.value : fail("all arguments must be of one type");
};

const chunk = (items: readonly Value[], size: number): Value => {
  if (size < 0) fail("the size must not be negative", 1);
  if (items.length === 0) return [];
  if (size === 0) return [items];
  const out: Value[] = [];
  for (let i = 0; i < items.length; i += size) out.push(items.slice(i, i + size));
  return out;
};

const distinct = (items: readonly Value[], c: CallContext): Value => {
  c.charge(items.length, items.length);
  const seen = new Set<string>();
  return items.filter((v) => {
    const key = valueKey(v);
    return !seen.has(key) && seen.add(key);
  });
};

const flatten = (items: readonly Value[], out: Value[]): Value[] => {
  for (const item of items) {
    if (isList(item)) flatten(item, out);
    else out.push(item);
  }
  return out;
};

const keyText = (args: readonly Value[]): string =>
  toText(args[1] as Value) ?? fail("a string or number is required", 1);

const indexOf = (args: readonly Value[]): Value => {
  const collection = args[0] as Value;
  if (isList(collection)) {
    const i = typeof args[1] === "string" ? parseNumber(args[1]) : args[1];
    const found = typeof i === "number" && i >= 0 ? collection[i] : undefined;
    return found === undefined ? fail(`there is no item ${keyText(args)}`, 1) : found;
  }
  const found = map(args, 0).get(keyText(args));
  return found === undefined ? fail(`there is no item ${JSON.stringify(keyText(args))}`, 1) : found;
};

const sequence = (args: readonly Value[]): Value => {
  if (args.length > 3) fail("there are at most a start, a limit and a step", 3);
  const [start, limit, given] = (args.length === 1 ? [0, args[0]] : args) as (number | HclNumber | undefined)[];
  const from = start as number;
  const to = limit as number;
  const step = given ?? (ordered("<", to, from) ? -1 : 1);
  if (step === 0) fail("the step must not be zero", 2);
  const up = ordered(">", step, 0);
  if (given !== undefined && !(from === to) && up !== ordered("<", from, to))
    fail(`the step must be ${up ? "negative" : "positive"}`, 2);
  const out: Value[] = [];
  for (let n: number | HclNumber = from; ordered(up ? "<" : ">", n, to);) {
    if (out.length >= MAX_RANGE) fail(`more than ${MAX_RANGE} numbers`);
    out.push(n);
    const next = arithmetic("+", n, step);
    if (typeof next === "object" && "error" in next) return fail(next.error);
    n = next;
  }
  return out;
};

const length = (args: readonly Value[]): Value => {
  const v = args[0] as Value;
  if (isList(v)) return v.length;
  return v !== null && isMap(v) ? v.size : fail(`a list or map is required, but have ${typeName(v)}`, 0);
};

const merge = (args: readonly Value[], c: CallContext): Value => {
  const out = new Map<string, Value>();
  args.forEach((m, i) => {
    if (m === null) return;
    const entries = map(args, i);
    c.charge(entries.size, entries.size);
    for (const [k, v] of entries) out.set(k, v);
  });
  return out;
};

const slice = (args: readonly Value[]): Value => {
  const items = list(args, 0);
  const from = whole(args, 1);
  const to = whole(args, 2);
  if (from < 0 || from > items.length) fail("the start is outside of the list", 1);
  if (to < from || to > items.length) fail("the end is before the start or outside of the list", 2);
  return items.slice(from, to);
};

export const collectionFunctions = (): Readonly<Record<string, HclFunction>> => ({
  chunklist: fixed([param("list", listOf(ANY)), param("size", NUMBER)], (args) => chunk(list(args, 0), whole(args, 1))),
  coalesce: variadic([param("vals", "dynamic", true)], param("vals", "dynamic", true), (args) => {
    const chosen = args.find((v) => v !== null);
    return chosen === undefined ? fail("all arguments are null") : unified(args, chosen);
  }),
  coalescelist: variadic([any("vals")], any("vals"), (args) => {
    const at = args.findIndex((_, i) => list(args, i).length > 0);
    return at === -1 ? fail("all lists are empty") : list(args, at);
  }),
  compact: fixed([param("list", listOf(STRING))], ([items]) =>
    (items as Value[]).filter((v) => v !== null && v !== ""),
  ),
  concat: variadic([any("seqs")], any("seqs"), (args, c) => {
    const all = args.flatMap((_, i) => list(args, i));
    c.charge(all.length, all.length);
    return all;
  }),
  contains: fixed([any("list"), param("value", "dynamic", true)], (args, c) => {
    const items = list(args, 0);
    c.charge(items.length);
    return items.some((v) => valuesEqual(v, args[1] as Value));
  }),
  distinct: fixed([any("list")], (args, c) => distinct(list(args, 0), c)),
  element: fixed([any("list"), param("index", NUMBER)], (args) => {
    const items = list(args, 0);
    const at = whole(args, 1);
    if (items.length === 0) fail("the list is empty", 0);
    return items[((at % items.length) + items.length) % items.length] as Value;
  }),
  flatten: fixed([any("list")], (args, c) => {
    const out = flatten(list(args, 0), []);
    c.charge(out.length, out.length);
    return out;
  }),
  index: fixed([any("collection"), any("key")], indexOf),
  keys: fixed([any("map")], (args) => sortedEntries(map(args, 0)).map(([k]) => k)),
  length: fixed([any("value")], length),
  lookup: fixed(
    [any("map"), param("key", STRING), param("default", "dynamic", true)],
    (args) => map(args, 0).get(args[1] as string) ?? (args[2] as Value),
  ),
  merge: variadic([], param("maps", "dynamic", true), merge),
  range: variadic([param("params", NUMBER)], param("params", NUMBER), sequence),
  reverse: fixed([any("list")], (args) => [...list(args, 0)].reverse()),
  slice: fixed([any("list"), param("start_index", NUMBER), param("end_index", NUMBER)], slice),
  values: fixed([any("map")], (args) => sortedEntries(map(args, 0)).map(([, v]) => v)),
  zipmap: fixed([param("keys", listOf(STRING)), any("values")], (args) => {
    const values = list(args, 1);
    const keys = args[0] as string[];
    if (keys.length !== values.length) fail(`${keys.length} keys do not fit ${values.length} values`, 1);
    return new Map(keys.map((k, i) => [k, values[i] as Value]));
  }),
});
