import { isList, isMap } from "./compare.ts";
import { HclNumber, parseNumber } from "./number.ts";
import type { Value } from "./value.ts";

/**
 * A value as plain JavaScript: maps become objects without prototype (`__proto__` is an ordinary key there), whole
 * {@link HclNumber}s bigints, other ones decimal texts.
 * @public
 */
export const valueToJs = (v: Value): unknown => {
  if (v instanceof HclNumber) return v.isInteger() ? v.toBigInt() : v.toString();
  if (isList(v)) return v.map(valueToJs);
  if (v === null || !isMap(v)) return v;
  const out = Object.create(null) as Record<string, unknown>;
  for (const [key, x] of v) out[key] = valueToJs(x);
  return out;
};

/**
 * Plain JavaScript data as a value: objects by their own enumerable keys, bigints exactly.
 * @throws TypeError for anything that is no data: functions, symbols, undefined, NaN, class instances.
 * @public
 */
export const valueFromJs = (x: unknown): Value => {
  if (x === null || typeof x === "string" || typeof x === "boolean" || x instanceof HclNumber) return x;
  if (typeof x === "number" && !Number.isNaN(x)) return x === 0 ? 0 : x;
  if (typeof x === "bigint") {
    const exact = parseNumber(x.toString());
    if (exact !== undefined) return exact;
  }
  if (Array.isArray(x)) return x.map(valueFromJs);
  if (x instanceof Map) return new Map([...x].map(([k, v]) => [String(k), valueFromJs(v)]));
  if (typeof x === "object" && (Object.getPrototypeOf(x) === null || Object.getPrototypeOf(x) === Object.prototype)) {
    return new Map(Object.entries(x).map(([k, v]) => [k, valueFromJs(v)]));
  }
  const text = typeof x === "object" ? "a class instance" : typeof x;
  throw Object.assign(new TypeError(`cannot make a value of ${text}`), {
    [Symbol.for("outrider.error")]: true,
    code: "invalid-argument",
    field: "x",
    text,
    recoverable: false,
  });
};
