import { Decoder, Encoder } from "@msgpack/msgpack";
import { joinPath, structError } from "../error.ts";
import type { Field, Struct } from "./field.ts";
import { timeFromBytes, timeToBytes } from "./go-time.ts";
import { decode, encode } from "./json.ts";
import { Budget, DEFAULT_MAX_DEPTH, type Limits } from "./limits.ts";
import { setKey, zeroOf } from "./zero.ts";

// Integers go through bigint: the encoder would write large numbers as floats, which Go refuses for integers.
const encoder = new Encoder({ useBigInt64: true, maxDepth: 2 * DEFAULT_MAX_DEPTH });
const decoder = new Decoder({ useBigInt64: true, rawStrings: true });
const utf8 = new TextDecoder();

/** A number as the encoder must see it: whole ones beyond 32 bits as bigint, as it would write them as floats. */
function packInt(n: number): number | bigint {
  return n > 0xffff_ffff || n < -0x8000_0000 ? BigInt(n) : n;
}

function packAny(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(packAny);
  if (typeof value === "object" && value !== null) {
    const out: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) out[key] = packAny(item);
    return out;
  }
  return typeof value === "number" && Number.isSafeInteger(value) ? packInt(value) : value;
}

function packField(field: Field<unknown>, value: unknown): unknown {
  if (field.kind === "time") return timeToBytes(value as string | null);
  if (value === null) return null;
  switch (field.kind) {
    case "int":
    case "duration":
    case "unixNano":
      return packInt(value as number);
    case "bytes":
      return Buffer.from(value as string, "base64");
    case "any":
      return packAny(value);
    case "ptr":
      return packField(field.item as Field<unknown>, value);
    case "list":
      return (value as unknown[]).map((item) => packField(field.item as Field<unknown>, item));
    case "map": {
      const out: Record<string, unknown> = {};
      for (const [key, item] of Object.entries(value as object))
        out[key] = packField(field.item as Field<unknown>, item);
      return out;
    }
    case "struct":
      return packStruct(field.struct as Struct<unknown>, value as Record<string, unknown>);
    default:
      return value;
  }
}

function packStruct(of: Struct<unknown>, value: Record<string, unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, field] of of.entries) if (Object.hasOwn(value, key)) out[key] = packField(field, value[key]);
  return out;
}

function text(value: unknown, path: string): string {
  if (value instanceof Uint8Array) return utf8.decode(value);
  throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be text");
}

function unpackAny(value: unknown, path: string, budget: Budget): unknown {
  budget.enter(path);
  try {
    if (value instanceof Uint8Array) return utf8.decode(value);
    if (typeof value === "bigint") return Number(value);
    if (Array.isArray(value)) return value.map((item, i) => unpackAny(item, joinPath(path, i), budget));
    if (typeof value === "object" && value !== null) {
      const out: Record<string, unknown> = {};
      for (const [key, item] of Object.entries(value))
        setKey(out, key, unpackAny(item, joinPath(path, key), budget), path);
      return out;
    }
    return value;
  } finally {
    budget.leave();
  }
}

function unpackMap(item: Field<unknown>, value: unknown, path: string, budget: Budget): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Uint8Array) {
    throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be a map");
  }
  const out: Record<string, unknown> = {};
  for (const [key, x] of Object.entries(value))
    setKey(out, key, unpackField(item, x, joinPath(path, key), budget), path);
  return out;
}

function unpackList(item: Field<unknown>, value: unknown, path: string, budget: Budget): unknown {
  // Go writes a list of 8-bit numbers as one string of raw bytes.
  if (value instanceof Uint8Array && item.kind === "int" && item.bits === 8) return [...value];
  if (!Array.isArray(value)) throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be a list");
  return value.map((x, i) => unpackField(item, x, joinPath(path, i), budget));
}

/** Turns one raw value into what JSON would hold; ranges are checked by the JSON walk afterwards. */
function unpackField(field: Field<unknown>, value: unknown, path: string, budget: Budget): unknown {
  if (value === null || value === undefined) return zeroOf(field);
  if (field.kind === "any") return unpackAny(value, path, budget);
  budget.enter(path);
  try {
    switch (field.kind) {
      case "str":
        return text(value, path);
      case "time":
        if (value instanceof Uint8Array) return timeFromBytes(value, path);
        throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be a time of 15 bytes");
      case "bytes":
        if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
        throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, "must be bytes");
      case "bool":
        return value === 0 || value === 1 ? value === 1 : value;
      case "float":
        return typeof value === "bigint" ? Number(value) : value;
      case "ptr":
        return unpackField(field.item as Field<unknown>, value, path, budget);
      case "list":
        return unpackList(field.item as Field<unknown>, value, path, budget);
      case "map":
        return unpackMap(field.item as Field<unknown>, value, path, budget);
      case "struct":
        return unpackStruct(field.struct as Struct<unknown>, value, path, budget);
      default:
        return value;
    }
  } finally {
    budget.leave();
  }
}

function unpackStruct(of: Struct<unknown>, value: unknown, path: string, budget: Budget): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Uint8Array) {
    throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, value, `must be a map (${of.name})`);
  }
  const raw = value as Record<string, unknown>;
  const out: Record<string, unknown> = {};
  for (const [key, field] of of.entries) {
    if (Object.hasOwn(raw, key)) out[key] = unpackField(field, raw[key], joinPath(path, key), budget);
  }
  return out;
}

/**
 * The msgpack form that Nomad's RPC reads: field names as keys, whole numbers as integers, times as 15 bytes. The value
 * is checked first. Fields are as in {@link encode}.
 *
 * @public
 */
export function encodeMsgpack<T>(of: Struct<T>, value: T, o: Limits = {}): Uint8Array {
  return encoder.encode(toMsgpackValue(of, value, o));
}

/** What {@link encodeMsgpack} hands to the encoder: for callers that put values into a larger message. @public */
export function toMsgpackValue<T>(of: Struct<T>, value: T, o: Limits = {}): Record<string, unknown> {
  return packStruct(of, encode(of, value, o));
}

/** Reads the msgpack form: unknown keys are skipped, absent ones are zero. Throws like {@link decode}. @public */
export function decodeMsgpack<T>(of: Struct<T>, data: Uint8Array, o: Limits = {}): T {
  let raw: unknown;
  try {
    raw = decoder.decode(data);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "not msgpack";
    throw structError("ERR_OUTRIDER_STRUCTS_SYNTAX", "", data.byteLength, `is not msgpack (${why})`);
  }
  return fromMsgpackValue(of, raw, o);
}

/** The second half of {@link decodeMsgpack}: from values decoded with raw strings and 64-bit integers as bigint. @public */
export function fromMsgpackValue<T>(of: Struct<T>, raw: unknown, o: Limits = {}): T {
  return decode(of, unpackStruct(of, raw, "", new Budget(o)), o);
}
