import { type PathText, structError } from "../error.ts";
import type { Field } from "./field.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** 2^63 as a double: the first value that an int64 cannot hold. */
const INT64_END = 2 ** 63;

/** Checks a whole number against the width of its field. */
export function checkInt(field: Field<unknown>, value: unknown, path: PathText): number {
  let n: unknown = value;
  if (typeof n === "bigint") n = Number(n);
  if (typeof n !== "number") throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be a whole number");
  if (!Number.isInteger(n)) throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be a whole number");
  if (field.kind === "unixNano" || field.kind === "duration") {
    if (n >= -INT64_END && n < INT64_END) return n;
    throw structError("ERR_OUTRIDER_STRUCTS_RANGE", path, value, "must fit into 64 bits");
  }
  if (!Number.isSafeInteger(n)) {
    const why = "must be between -9007199254740991 and 9007199254740991 to be kept exactly";
    throw structError("ERR_OUTRIDER_STRUCTS_RANGE", path, value, why);
  }
  const bits = field.bits ?? 64;
  const min = field.unsigned === true ? 0 : -(2 ** (bits - 1));
  const max = field.unsigned === true ? 2 ** bits - 1 : 2 ** (bits - 1) - 1;
  if (n < min || n > max) {
    throw structError("ERR_OUTRIDER_STRUCTS_RANGE", path, value, `must be between ${min} and ${max}`);
  }
  // -0 is written as "-0" by some encoders; Go has no such integer.
  return n === 0 ? 0 : n;
}

/** Checks any value that is neither container nor untyped. */
export function checkScalar(field: Field<unknown>, value: unknown, path: PathText): unknown {
  switch (field.kind) {
    case "str":
      if (typeof value === "string") return value;
      throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be text");
    case "bool":
      if (typeof value === "boolean") return value;
      throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be true or false");
    case "float":
      if (typeof value === "number" && Number.isFinite(value)) return value;
      throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be a finite number");
    case "time":
      if (typeof value === "string" && TIME.test(value) && !Number.isNaN(Date.parse(value))) return value;
      throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be a time like 2026-01-31T12:00:00Z");
    case "bytes":
      if (typeof value === "string" && BASE64.test(value)) return value;
      throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be base64 text");
    default:
      return checkInt(field, value, path);
  }
}
