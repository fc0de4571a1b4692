import type { Field, Struct } from "./field.ts";

/** A JSON Schema (2020-12) document or part of one. @public */
export type JsonSchema = { [key: string]: unknown };

function intSchema(field: Field<unknown>): JsonSchema {
  if (field.kind === "unixNano" || field.kind === "duration") return { type: "integer" };
  const bits = Math.min(field.bits ?? 64, 53);
  const wide = (field.bits ?? 64) === 64;
  if (field.unsigned === true) return { type: "integer", minimum: 0, maximum: 2 ** bits - 1 };
  const edge = wide ? Number.MAX_SAFE_INTEGER : 2 ** (bits - 1) - 1;
  return { type: "integer", minimum: wide ? -edge : -edge - 1, maximum: edge };
}

function nullable(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: "null" }] };
}

function fieldSchema(field: Field<unknown>, defs: Map<string, JsonSchema>): JsonSchema {
  switch (field.kind) {
    case "str":
      return { type: "string" };
    case "bool":
      return { type: "boolean" };
    case "float":
      return { type: "number" };
    case "time":
      return { type: "string", format: "date-time" };
    case "bytes":
      return { type: "string", contentEncoding: "base64" };
    case "any":
      return {};
    case "ptr":
      return fieldSchema(field.item as Field<unknown>, defs);
    case "list":
      return { type: "array", items: nullable(fieldSchema(field.item as Field<unknown>, defs)) };
    case "map":
      return { type: "object", additionalProperties: nullable(fieldSchema(field.item as Field<unknown>, defs)) };
    case "struct":
      return structRef(field.struct as Struct<unknown>, defs);
    default:
      return intSchema(field);
  }
}

function structRef(of: Struct<unknown>, defs: Map<string, JsonSchema>): JsonSchema {
  if (!defs.has(of.name)) {
    defs.set(of.name, {});
    const properties: JsonSchema = {};
    for (const [key, field] of of.entries) properties[key] = nullable(fieldSchema(field, defs));
    defs.set(of.name, { type: "object", properties });
  }
  return { $ref: `#/$defs/${of.name}` };
}

/**
 * The JSON Schema (draft 2020-12) of bodies that {@link decode} and {@link decodeInput} accept: every field may be
 * absent or null; unknown keys are allowed unless `refuseUnknown`.
 *
 * @public
 */
export function jsonSchema<T>(of: Struct<T>, o: { readonly refuseUnknown?: boolean } = {}): JsonSchema {
  const defs = new Map<string, JsonSchema>();
  const top = structRef(of, defs);
  if (o.refuseUnknown === true) for (const def of defs.values()) def["additionalProperties"] = false;
  return { $schema: "https://json-schema.org/draft/2020-12/schema", ...top, $defs: Object.fromEntries(defs) };
}
