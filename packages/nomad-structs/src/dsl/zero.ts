import { type PathText, structError } from "../error.ts";
import type { Field, Struct } from "./field.ts";

/** The zero of a field, as Go has it. Objects are fresh on every call. */
export function zeroOf(field: Field<unknown>): unknown {
  switch (field.kind) {
    case "str":
      return "";
    case "bool":
      return false;
    case "int":
    case "float":
    case "duration":
    case "unixNano":
      return 0;
    case "struct":
      return zeroStruct(field.struct as Struct<unknown>);
    default:
      return null;
  }
}

/** An object with every field zero, without those that only submitted jobs have. */
export function zeroStruct(of: Struct<unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, field] of of.entries) if (field.submittedOnly !== true) out[key] = zeroOf(field);
  return out;
}

/** Whether a value counts as empty for "omit empty": also an empty list or map, and an object of zeros. */
export function isZero(field: Field<unknown>, value: unknown): boolean {
  if (value === null || value === undefined || value === "" || value === 0 || value === false) return true;
  if (field.kind === "list") return (value as unknown[]).length === 0;
  if (field.kind === "map") return Object.keys(value as object).length === 0;
  if (field.kind !== "struct") return false;
  const of = field.struct as Struct<unknown>;
  return of.entries.every(([key, inner]) => isZero(inner, (value as Record<string, unknown>)[key]));
}

/**
 * Sets a key that came from outside. `__proto__` is refused: it is no key of any real job, msgpack decoders cannot read
 * it back, and code further on may copy it into a prototype.
 */
export function setKey(target: Record<string, unknown>, key: string, value: unknown, path: PathText): void {
  if (key === "__proto__") {
    throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, key, "must have no key of this name");
  }
  target[key] = value;
}
