import { structError } from "../error.ts";
import type { Field, Input, Struct } from "./field.ts";
import { Budget, type Limits } from "./limits.ts";
import { Path } from "./path.ts";
import { checkScalar } from "./scalars.ts";
import { isZero, setKey, zeroOf } from "./zero.ts";

/** What happens to keys that the description does not know. @public */
export type UnknownKeys = "keep" | "drop" | "refuse";

/** Options of the JSON codec. @public */
export interface JsonOptions extends Limits {
  /** Default "drop", as Nomad does. */
  readonly unknownKeys?: UnknownKeys;
}

/** fill: absent is zero; input: absence and null are kept; write: zeros are left out where Nomad leaves them out. */
type Mode = "fill" | "input" | "write";

interface Walk {
  readonly mode: Mode;
  readonly unknownKeys: UnknownKeys;
  readonly budget: Budget;
  readonly path: Path;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

// A failure ends the whole walk: neither path nor budget has to be put right on the way out.

function walkAny(value: unknown, w: Walk): unknown {
  const { budget, path } = w;
  budget.enter(path);
  const out = copyAny(value, w);
  budget.leave();
  return out;
}

function copyAny(value: unknown, w: Walk): unknown {
  if (Array.isArray(value)) return value.map((item, i) => anyAt(i, item, w));
  if (isPlainObject(value)) {
    const out: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      const item = value[key];
      if (item !== undefined) setKey(out, key, anyAt(key, item, w), w.path);
    }
    return out;
  }
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw structError("ERR_OUTRIDER_STRUCTS_TYPE", w.path, value, "must be a JSON value");
}

function anyAt(key: string | number, value: unknown, w: Walk): unknown {
  w.path.push(key);
  const out = walkAny(value, w);
  w.path.pop();
  return out;
}

function walkList(item: Field<unknown>, value: unknown, w: Walk): unknown {
  if (!Array.isArray(value)) throw structError("ERR_OUTRIDER_STRUCTS_TYPE", w.path, value, "must be a list");
  return value.map((x, i) => fieldAt(i, item, x, w));
}

function walkMap(item: Field<unknown>, value: unknown, w: Walk): unknown {
  if (!isPlainObject(value)) throw structError("ERR_OUTRIDER_STRUCTS_TYPE", w.path, value, "must be an object");
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setKey(out, key, fieldAt(key, item, value[key], w), w.path);
  return out;
}

function walkStruct(of: Struct<unknown>, value: unknown, w: Walk): Record<string, unknown> {
  if (!isPlainObject(value)) {
    throw structError("ERR_OUTRIDER_STRUCTS_TYPE", w.path, value, `must be an object (${of.name})`);
  }
  const out: Record<string, unknown> = {};
  of.entries.forEach(([key, field]) => {
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    if (given === undefined) {
      if (w.mode === "input" || field.submittedOnly === true) return;
      if (w.mode === "write" && (of.omitZero || field.omitZero === true)) return;
      out[key] = zeroOf(field);
      return;
    }
    if (w.mode === "write" && (of.omitZero || field.omitZero === true) && isZero(field, given)) return;
    out[key] = fieldAt(key, field, given, w);
  });
  if (w.unknownKeys !== "drop") walkUnknown(of, value, w, out);
  return out;
}

function walkUnknown(of: Struct<unknown>, value: Record<string, unknown>, w: Walk, out: Record<string, unknown>): void {
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined || Object.hasOwn(of.fields, key)) continue;
    if (w.unknownKeys === "refuse") {
      w.path.push(key);
      throw structError("ERR_OUTRIDER_STRUCTS_UNKNOWN_KEY", w.path, item, `is not a field of ${of.name}`);
    }
    setKey(out, key, anyAt(key, item, w), w.path);
  }
}

function fieldAt(key: string | number, field: Field<unknown>, value: unknown, w: Walk): unknown {
  w.path.push(key);
  const out = walkField(field, value, w);
  w.path.pop();
  return out;
}

function walkField(field: Field<unknown>, value: unknown, w: Walk): unknown {
  // Go leaves a field at its zero when the body says null.
  if (value === null || value === undefined) return w.mode === "input" ? null : zeroOf(field);
  if (field.kind === "any") return walkAny(value, w);
  w.budget.enter(w.path);
  const out = walkKind(field, value, w);
  w.budget.leave();
  return out;
}

function walkKind(field: Field<unknown>, value: unknown, w: Walk): unknown {
  switch (field.kind) {
    case "ptr":
      return walkField(field.item as Field<unknown>, value, w);
    case "list":
      return walkList(field.item as Field<unknown>, value, w);
    case "map":
      return walkMap(field.item as Field<unknown>, value, w);
    case "struct":
      return walkStruct(field.struct as Struct<unknown>, value, w);
    default:
      return checkScalar(field, value, w.path);
  }
}

function run<T>(of: Struct<T>, value: unknown, mode: Mode, o: JsonOptions): Record<string, unknown> {
  const budget = new Budget(o);
  const path = new Path();
  budget.enter(path);
  return walkStruct(of, value, { mode, unknownKeys: o.unknownKeys ?? "drop", budget, path });
}

/**
 * Checks a parsed JSON body against a description and returns a fresh, complete object: absent fields and nulls are
 * zero, numbers are in range. Throws `ERR_OUTRIDER_STRUCTS_*` with the path of the field and the offending text.
 *
 * @public
 */
export function decode<T>(of: Struct<T>, value: unknown, o: JsonOptions = {}): T {
  return run(of, value, "fill", o) as T;
}

/**
 * Checks a body as users submit it: like {@link decode}, but absent fields stay absent and nulls stay null, so that
 * defaults can be told from values.
 *
 * @public
 */
export function decodeInput<T>(of: Struct<T>, value: unknown, o: JsonOptions = {}): Input<T> {
  return run(of, value, "input", o) as Input<T>;
}

/** The JSON body of a value, as Nomad writes it: fields in order, zeros left out where Nomad leaves them out. @public */
export function encode<T>(of: Struct<T>, value: T, o: JsonOptions = {}): Record<string, unknown> {
  return run(of, value, "write", o);
}

/** A complete, checked object from a few fields; the rest is zero. @public */
export function make<T>(of: Struct<T>, value: Input<T> = {} as Input<T>): T {
  return run(of, value, "fill", {}) as T;
}

/**
 * Parses JSON text of bounded length and checks it; see {@link decode} and {@link decodeInput}. `maxBytes` counts UTF-16
 * units of the text, default 32 MiB.
 *
 * @public
 */
export function parseJson(text: string, o: { readonly maxBytes?: number } = {}): unknown {
  const max = o.maxBytes ?? 32 * 1024 * 1024;
  if (text.length > max) {
    throw structError("ERR_OUTRIDER_STRUCTS_TOO_LARGE", "", text.length, `the text is longer than ${max} characters`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split("\n")[0] : "not JSON";
    throw structError("ERR_OUTRIDER_STRUCTS_SYNTAX", "", text.slice(0, 40), `is not JSON (${why})`);
  }
}
