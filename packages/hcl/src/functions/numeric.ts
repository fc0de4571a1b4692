import { compareNumber } from "../compare.ts";
import { negate } from "../arithmetic.ts";
import { FunctionError, type HclFunction } from "../eval-types.ts";
import { HclNumber, parseNumber, simplify } from "../number.ts";
import { NUMBER, STRING } from "../types.ts";
import type { Value } from "../value.ts";
import { fixed, param, variadic, whole } from "./define.ts";

type Num = number | HclNumber;
const num = param("num", NUMBER);

const sign = (n: Num): number => (typeof n === "number" ? Math.sign(n) : n.sign);

/** Next whole number in a direction. */
const rounded = (n: Num, up: boolean): Num => {
  if (typeof n === "number") return (up ? Math.ceil(n) : Math.floor(n)) || 0;
  const cut = n.toBigInt();
  const adjust = n.isInteger() || sign(n) > 0 !== up ? 0n : up ? 1n : -1n;
  return simplify(HclNumber.make(cut + adjust, 0));
};

const float = (n: Value, i: number): number => {
  const x = typeof n === "number" ? n : (n as HclNumber).toNumber();
  if (!Number.isFinite(x)) throw new FunctionError("the number is too large", i);
  return x;
};

const fromFloat = (n: number): Num => {
  if (Number.isNaN(n)) throw new FunctionError("the result is not a number");
  return n === 0 ? 0 : n;
};

const extreme =
  (direction: 1 | -1) =>
  (args: readonly Value[]): Value =>
    (args as Num[]).reduce((best, n) => (compareNumber(n, best) * direction > 0 ? n : best));

const parseInteger = (text: string, base: number): Num => {
  if (base < 2 || base > 62) throw new FunctionError("the base must be a whole number from 2 to 62", 1);
  const digits = /^([+-]?)([0-9A-Za-z]+)$/.exec(text);
  if (digits === null || text.length > 10_000)
    throw new FunctionError(`${JSON.stringify(text.slice(0, 40))} is no whole number of base ${base}`, 0);
  let value = 0n;
  for (const c of digits[2] as string) {
    // Up to base 36 the case of a letter does not matter; above, capitals follow the small letters.
    const small = "0123456789abcdefghijklmnopqrstuvwxyz".indexOf(base <= 36 ? c.toLowerCase() : c);
    const digit = small === -1 ? c.charCodeAt(0) - 65 + 36 : small;
    if (digit >= base)
      throw new FunctionError(`${JSON.stringify(text.slice(0, 40))} is no whole number of base ${base}`, 0);
    value = value * BigInt(base) + BigInt(digit);
  }
  return parseNumber((digits[1] === "-" ? -value : value).toString()) as Num;
};

export const numericFunctions = (): Readonly<Record<string, HclFunction>> => ({
  abs: fixed([num], ([n]) => (sign(n as Num) < 0 ? negate(n as Num) : (n as Num))),
  ceil: fixed([num], ([n]) => rounded(n as Num, true)),
  floor: fixed([num], ([n]) => rounded(n as Num, false)),
  log: fixed([num, param("base", NUMBER)], ([n, base]) =>
    fromFloat(Math.log(float(n as Value, 0)) / Math.log(float(base as Value, 1))),
  ),
  max: variadic([param("numbers", NUMBER)], param("numbers", NUMBER), extreme(1)),
  min: variadic([param("numbers", NUMBER)], param("numbers", NUMBER), extreme(-1)),
  parseint: fixed([param("number", STRING), param("base", NUMBER)], (args) =>
    parseInteger(args[0] as string, whole(args, 1)),
  ),
  pow: fixed([num, param("power", NUMBER)], ([n, power]) => {
    const result = float(n as Value, 0) ** float(power as Value, 1);
    return fromFloat(result);
  }),
  signum: fixed([num], (args) => Math.sign(whole(args, 0))),
});
