import { isList, isNumber } from "../compare.ts";
import { convertValue, toText } from "../convert.ts";
import { type CallContext, FunctionError } from "../eval-types.ts";
import { HclNumber, numberText } from "../number.ts";
import { BOOL, NUMBER } from "../types.ts";
import type { Value } from "../value.ts";
import { clusters } from "./define.ts";
import { encodeJson } from "./json.ts";

const VERB = /%(?:%|([-+ #0]*)(\d+)?(?:\.(\d*))?(?:\[(\d+)\])?(.?))/gsu;
const MAX_WIDTH = 10_000;

interface Spec {
  flags: string;
  width: number;
  precision: number | undefined;
}

/** `format(…)`: the verbs of printf for strings, numbers, bools and JSON. */
export const formatText = (format: string, args: readonly Value[], c: CallContext): string => {
  let next = 0;
  let used = 0;
  let counted = true;
  const out = format.replace(
    VERB,
    (
      whole: string,
      flags: string | undefined,
      width: string | undefined,
      precision: string | undefined,
      index: string | undefined,
      verb: string,
    ) => {
      if (whole === "%%") return "%";
      if (index !== undefined) {
        next = Number(index) - 1;
        counted = false;
      }
      const spec: Spec = {
        flags: flags ?? "",
        width: Number(width ?? 0),
        precision: precision === undefined ? undefined : Number(precision),
      };
      if (spec.width > MAX_WIDTH || (spec.precision ?? 0) > MAX_WIDTH)
        throw new FunctionError(`the width of ${JSON.stringify(whole)} is above ${MAX_WIDTH}`, 0);
      if (verb === "" || !"vtbdoxXeEfFgGsq".includes(verb))
        throw new FunctionError(`${JSON.stringify(whole)} is no format verb`, 0);
      if (next < 0 || next >= args.length)
        throw new FunctionError(`there is no argument for ${JSON.stringify(whole)}`, 0);
      const text = pad(formatOne(verb, spec, args[next] as Value, next + 1), spec, verb);
      c.charge(1, text.length);
      used = Math.max(used, ++next);
      return text;
    },
  );
  if (counted && used < args.length)
    throw new FunctionError(`the format has verbs for ${used} argument(s) only`, used + 1);
  return out;
};

/** `formatlist(…)`: one text for each position of the lists among the arguments. */
export const formatList = (format: string, args: readonly Value[], c: CallContext): Value => {
  const lists = args.filter(isList);
  const length = lists[0]?.length ?? 1;
  const odd = args.findIndex((a) => isList(a) && a.length !== length);
  if (odd !== -1) throw new FunctionError("all lists must have the same number of items", odd + 1);
  c.charge(length, length);
  return Array.from({ length }, (_, i) =>
    formatText(
      format,
      args.map((a) => (isList(a) ? (a[i] as Value) : a)),
      c,
    ),
  );
};

const formatOne = (verb: string, spec: Spec, value: Value, position: number): string => {
  if (verb === "v") {
    if (spec.flags.includes("#")) return encodeJson(value);
    if (value === null) return "null";
    return isNumber(value) ? numberText(value) : (toText(value) ?? encodeJson(value));
  }
  if (value === null) throw new FunctionError("it must not be null", position);
  if (verb === "t") {
    const bool = convertValue(value, BOOL);
    if (!bool.ok) throw new FunctionError(bool.message, position);
    return bool.value === true ? "true" : "false";
  }
  if (verb === "s" || verb === "q") {
    const text = toText(value);
    if (text === undefined) throw new FunctionError("a string is required", position);
    const cut = spec.precision === undefined ? text : clusters(text).slice(0, spec.precision).join("");
    return verb === "s" ? cut : JSON.stringify(cut);
  }
  const number = convertValue(value, NUMBER);
  if (!number.ok) throw new FunctionError(number.message, position);
  const n = HclNumber.of(number.value as number);
  const text = "bdoxX".includes(verb) ? integerText(verb, n, spec) : floatText(verb, n, spec);
  if (n.sign < 0) return text;
  return spec.flags.includes("+") ? `+${text}` : spec.flags.includes(" ") ? ` ${text}` : text;
};

const integerText = (verb: string, n: HclNumber, spec: Spec): string => {
  const base = verb === "b" ? 2 : verb === "o" ? 8 : verb === "d" ? 10 : 16;
  const value = n.toBigInt();
  const digits = (value < 0n ? -value : value).toString(base);
  const prefix = !spec.flags.includes("#") ? "" : base === 16 ? "0x" : base === 8 ? "0" : base === 2 ? "0b" : "";
  const text = prefix + (spec.precision === undefined ? digits : digits.padStart(spec.precision, "0"));
  return (value < 0n ? "-" : "") + (verb === "X" ? text.toUpperCase() : text);
};

/** Digits behind the point, rounded half away from zero on the exact decimal text. */
const toFixed = (text: string, digits: number): string => {
  const negative = text.startsWith("-");
  const [integer = "0", fraction = ""] = (negative ? text.slice(1) : text).split(".");
  const kept = BigInt(integer + fraction.slice(0, digits).padEnd(digits, "0"));
  const all = (kept + ((fraction[digits] ?? "0") >= "5" ? 1n : 0n)).toString().padStart(digits + 1, "0");
  const at = all.length - digits;
  return (negative ? "-" : "") + all.slice(0, at) + (digits > 0 ? `.${all.slice(at)}` : "");
};

const floatText = (verb: string, n: HclNumber, spec: Spec): string => {
  const lower = verb.toLowerCase();
  if (lower === "f") return toFixed(n.toString(), spec.precision ?? 6);
  const plain = n.toNumber();
  if (!Number.isFinite(plain)) return n.toString();
  const exponent = (text: string): string => text.replace(/e([+-])(\d)$/, "e$10$2");
  let text: string;
  if (lower === "e") text = exponent(plain.toExponential(Math.min(spec.precision ?? 6, 100)));
  else if (spec.precision === undefined) {
    const magnitude = plain === 0 ? 0 : Math.floor(Math.log10(Math.abs(plain)));
    text = magnitude < -4 || magnitude >= 21 ? exponent(plain.toExponential()) : n.toString();
  } else {
    const precise = plain.toPrecision(Math.min(Math.max(spec.precision, 1), 100));
    text = exponent(precise.includes(".") ? precise.replace(/\.?0+($|e)/, "$1") : precise);
  }
  return verb === lower ? text : text.toUpperCase();
};

const pad = (text: string, spec: Spec, verb: string): string => {
  const missing = spec.width - clusters(text).length;
  if (missing <= 0) return text;
  if (spec.flags.includes("-")) return text + " ".repeat(missing);
  if (!spec.flags.includes("0") || "sqvt".includes(verb)) return " ".repeat(missing) + text;
  const sign = /^[-+ ]/.exec(text)?.[0] ?? "";
  return sign + "0".repeat(missing) + text.slice(sign.length);
};
