/** The fifteen functions that expressions in driver configurations may call. */
import { FunctionError, type Functions, type HclFunction, stdlib, type Value } from "@outrider/hcl";

const SHARED = [
  "abs",
  "coalesce",
  "concat",
  "jsondecode",
  "jsonencode",
  "length",
  "lower",
  "max",
  "min",
  "strlen",
  "substr",
  "upper",
];

const hasindex: HclFunction = {
  params: [
    { name: "collection", type: "dynamic" },
    { name: "key", type: "dynamic" },
  ],
  call: ([collection, key]) => {
    if (Array.isArray(collection)) {
      return typeof key === "number" && Number.isInteger(key) && key >= 0 && key < collection.length;
    }
    if (collection instanceof Map) return typeof key === "string" && collection.has(key);
    throw new FunctionError("a list, map, object or tuple is required", 0);
  },
};

const int: HclFunction = {
  params: [{ name: "num", type: { kind: "number" } }],
  call: ([num]) => {
    if (typeof num === "number") return Math.trunc(num) || 0;
    return num ?? null;
  },
};

const reverse: HclFunction = {
  params: [{ name: "value", type: "dynamic" }],
  call: ([value], c): Value => {
    if (Array.isArray(value)) {
      c.charge(value.length);
      return [...(value as readonly Value[])].reverse();
    }
    if (typeof value !== "string") throw new FunctionError("a string is required", 0);
    const reversed = stdlib["strrev"];
    return reversed === undefined ? value : reversed.call([value], c);
  },
};

/** The function table of driver configurations. */
export const configFunctions: Functions = {
  ...Object.fromEntries(SHARED.flatMap((name) => (stdlib[name] === undefined ? [] : [[name, stdlib[name]]]))),
  hasindex,
  int,
  reverse,
};
