import { isList, toSet, valueKey } from "../compare.ts";
import { convertValue } from "../convert.ts";
import { type CallContext, FunctionError, type HclFunction } from "../eval-types.ts";
import { ANY, setOf } from "../types.ts";
import { unifyTypes, valueType } from "../unify.ts";
import type { Value } from "../value.ts";
import { fixed, param, variadic } from "./define.ts";

const set = (name: string): ReturnType<typeof param> => param(name, setOf(ANY));

/** Brings the elements of all sets to one type, so that "1" and 1 meet. */
const unified = (sets: readonly Value[]): Value[][] => {
  const type = unifyTypes((sets as Value[][]).flat().map(valueType));
  if (type === undefined) throw new FunctionError("the elements of all sets must be of one type");
  return (sets as Value[][]).map((s) => {
    const converted = convertValue(s, setOf(type));
    if (!converted.ok) throw new FunctionError(converted.message);
    return converted.value as Value[];
  });
};

const product = (args: readonly Value[], c: CallContext): Value => {
  const sets = args.map((v, i) => (isList(v) ? v : fail(i)));
  let rows: Value[][] = [[]];
  for (const items of sets) {
    c.charge(rows.length * items.length, rows.length * items.length * sets.length);
    rows = rows.flatMap((row) => items.map((item) => [...row, item]));
  }
  return rows;
};

const fail = (i: number): never => {
  throw new FunctionError("a list or set is required", i);
};

const keep = (args: readonly Value[], inOthers: boolean): Value => {
  const [first = [], ...others] = unified(args);
  const keys = others.map((s) => new Set(s.map(valueKey)));
  return first.filter((v) =>
    inOthers ? keys.every((k) => k.has(valueKey(v))) : !keys.some((k) => k.has(valueKey(v))),
  );
};

export const setFunctions = (): Readonly<Record<string, HclFunction>> => ({
  setintersection: variadic([set("first_set")], set("other_sets"), (args) => keep(args, true)),
  setproduct: variadic([param("sets", "dynamic"), param("sets", "dynamic")], param("sets", "dynamic"), product),
  setunion: variadic([set("first_set")], set("other_sets"), (args) => toSet(unified(args).flat())),
});

/** Set functions that job files do not have. */
export const moreSetFunctions = (): Readonly<Record<string, HclFunction>> => ({
  sethaselement: fixed([set("set"), param("elem", "dynamic")], ([s, v]) =>
    (s as Value[]).some((x) => valueKey(x) === valueKey(v as Value)),
  ),
  setsubtract: fixed([set("a"), set("b")], (args) => keep(args, false)),
  setsymmetricdifference: fixed([set("a"), set("b")], (args) =>
    toSet([...(keep(args, false) as Value[]), ...(keep([...args].reverse(), false) as Value[])]),
  ),
});
