import { convertValue, HclNumber, numberText, type HclType, type Value } from "@outrider/hcl";
import { parseDuration } from "@outrider/nomad-structs";
import type { AttributeType } from "./block-spec.ts";

/** A value as JSON holds it, or why it does not fit. */
export type Read = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly why: string };

const STRING: HclType = { kind: "string" };
const NUMBER: HclType = { kind: "number" };
const BOOL: HclType = { kind: "bool" };
const STRINGS: HclType = { kind: "list", element: STRING };
const STRING_MAP: HclType = { kind: "map", element: STRING };
const STRING_LISTS: HclType = { kind: "map", element: STRINGS };

const WHOLE = "a whole number between -9007199254740991 and 9007199254740991 is required";

function converted(value: Value, type: HclType): { ok: true; value: Value } | { ok: false; why: string } {
  const result = convertValue(value, type);
  if (result.ok) return result;
  return { ok: false, why: result.path === "" ? result.message : `${result.path}: ${result.message}` };
}

function readInt(value: Value): Read {
  const number = converted(value, NUMBER);
  if (!number.ok) return number;
  const n = number.value;
  if (typeof n === "number" && Number.isSafeInteger(n)) return { ok: true, value: n === 0 ? 0 : n };
  return { ok: false, why: `${WHOLE}, not ${numberText(n as number | HclNumber)}` };
}

/** Text like "30s", or a whole number of nanoseconds. */
function readDuration(value: Value): Read {
  if (typeof value === "number") {
    return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? { ok: true, value } : { ok: false, why: WHOLE };
  }
  if (typeof value !== "string") return { ok: false, why: 'a duration like "30s" is required' };
  try {
    return { ok: true, value: parseDuration(value) };
  } catch (error) {
    return { ok: false, why: (error as Error).message.replace("(body): ", "the text ") };
  }
}

function withoutNull(value: Value): unknown {
  if (value instanceof Map) return mapOf(value as ReadonlyMap<string, Value>, withoutNull);
  if (Array.isArray(value)) return (value as readonly Value[]).map(withoutNull);
  return value ?? "";
}

/** An object in the order of the keys' bytes, as Go writes maps. */
export function mapOf(entries: ReadonlyMap<string, Value>, item: (value: Value) => unknown): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  const keys = [...entries.keys()].sort((a, b) => (a < b ? -1 : 1));
  for (const key of keys) out[key] = item(entries.get(key) as Value);
  return out;
}

/** Whether a map's keys can all be kept as keys of an object. */
function keysFit(value: Value): boolean {
  return !(value instanceof Map) || !value.has("__proto__");
}

/** Reads a value that is not null as the type of an attribute. */
export function readAttribute(value: Value, type: AttributeType): Read {
  switch (type) {
    case "int":
      return readInt(value);
    case "duration":
      return readDuration(value);
    case "str":
      return converted(value, STRING);
    case "bool":
      return converted(value, BOOL);
    default: {
      const target = type === "strings" ? STRINGS : type === "stringMap" ? STRING_MAP : STRING_LISTS;
      if (!keysFit(value)) return { ok: false, why: "a map cannot have the key __proto__" };
      const result = converted(value, target);
      return result.ok ? { ok: true, value: withoutNull(result.value) } : result;
    }
  }
}

/**
 * A value of free content (driver config, scaling policy). Numbers become doubles, as they do on the wire; nulls inside
 * objects are left out.
 */
export function freeValue(value: Value): unknown {
  if (value instanceof HclNumber) return Number(numberText(value));
  if (Array.isArray(value)) return (value as readonly Value[]).map(freeValue);
  if (value instanceof Map) return mapOf(withoutNullEntries(value as ReadonlyMap<string, Value>), freeValue);
  return value as unknown;
}

function withoutNullEntries(value: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
  return new Map([...value].filter(([, x]) => x !== null));
}

/** Why a free value cannot be kept, if it cannot. */
export function freeFault(value: Value): string | undefined {
  if (value instanceof HclNumber && !Number.isFinite(Number(numberText(value)))) return "the number is too large";
  if (Array.isArray(value)) return firstFault(value as readonly Value[]);
  if (!(value instanceof Map)) return undefined;
  if (!keysFit(value as Value)) return "an object cannot have the key __proto__";
  return firstFault([...(value as ReadonlyMap<string, Value>).values()]);
}

function firstFault(values: readonly Value[]): string | undefined {
  for (const value of values) {
    const fault = freeFault(value);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
