import { isList, isMap, isNumber, toSet } from "./compare.ts";
import { numberText, parseNumber } from "./number.ts";
import { type HclType, typeText } from "./types.ts";
import { unifyTypes, valueType } from "./unify.ts";
import type { Value } from "./value.ts";

/**
 * What {@link convertValue} gives. `path` leads to the part that does not fit, such as `[2].name`, empty for the whole.
 * @public
 */
export type ConvertResult =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly path: string; readonly message: string };

/**
 * The kind of a value in words: "string", "number", "bool", "tuple", "object" or "null".
 * @public
 */
export const typeName = (v: Value): string => {
  if (v === null) return "null";
  if (typeof v === "string") return "string";
  if (typeof v === "boolean") return "bool";
  if (isNumber(v)) return "number";
  return isList(v) ? "tuple" : "object";
};

class Mismatch extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * Converts a value to a type by the language's rules: numbers and bools become strings, strings that read as one become
 * numbers or bools, tuples lists, objects maps; an object loses attributes that its type does not name. Null fits every type.
 * @public
 */
export const convertValue = (value: Value, type: HclType): ConvertResult => {
  try {
    return { ok: true, value: convert(value, type, "") };
  } catch (error) {
    if (error instanceof Mismatch) return { ok: false, path: error.path, message: error.message };
    throw error;
  }
};

const requirement = (t: HclType): string => {
  if (t.kind === "number" || t.kind === "bool") return `a ${t.kind} is required`;
  if (t.kind === "list" || t.kind === "set" || t.kind === "map") {
    return t.element.kind === "any" ? `${t.kind} required` : `${t.kind} of ${typeText(t.element)} required`;
  }
  return `${t.kind} required`;
};

const mismatch = (path: string, value: Value, type: HclType): never => {
  const have = type.kind === "number" || type.kind === "bool" ? "" : `, but have ${typeName(value)}`;
  throw new Mismatch(path, requirement(type) + have);
};

const convert = (value: Value, type: HclType, path: string): Value => {
  if (value === null) return null;
  switch (type.kind) {
    case "string":
      return toText(value) ?? mismatch(path, value, type);
    case "number":
      if (isNumber(value)) return value;
      return (typeof value === "string" ? parseNumber(value) : undefined) ?? mismatch(path, value, type);
    case "bool":
      if (typeof value === "boolean") return value;
      if (value === "true" || value === "1") return true;
      return value === "false" || value === "0" ? false : mismatch(path, value, type);
    case "list":
    case "set": {
      if (!isList(value)) return mismatch(path, value, type);
      const element = elementType(type.element, value);
      const items = value.map((v, i) => convert(v, element, `${path}[${i}]`));
      return type.kind === "set" ? toSet(items) : items;
    }
    case "map": {
      if (!isMap(value)) return mismatch(path, value, type);
      const element = elementType(type.element, [...value.values()]);
      return new Map([...value].map(([k, v]) => [k, convert(v, element, `${path}[${JSON.stringify(k)}]`)]));
    }
    case "tuple":
      if (!isList(value) || value.length !== type.elements.length) {
        if (isList(value))
          throw new Mismatch(path, `tuple of ${type.elements.length} elements required, but have ${value.length}`);
        return mismatch(path, value, type);
      }
      return value.map((v, i) => convert(v, type.elements[i] as HclType, `${path}[${i}]`));
    case "object":
      return convertObject(value, type, path);
    default:
      return value;
  }
};

/** The text of a string, number or bool. */
export const toText = (value: Value): string | undefined => {
  if (typeof value === "string") return value;
  if (isNumber(value)) return numberText(value);
  return typeof value === "boolean" ? String(value) : undefined;
};

/** Elements of a list, set or map have one type; for `any` it is found by unification. */
const elementType = (declared: HclType, values: readonly Value[]): HclType =>
  declared.kind === "any" ? (unifyTypes(values.map(valueType)) ?? declared) : declared;

const convertObject = (value: Value, type: HclType & { kind: "object" }, path: string): Value => {
  if (!isMap(value)) return mismatch(path, value, type);
  const out = new Map<string, Value>();
  for (const [name, attribute] of type.attributes) {
    const inner = value.get(name);
    if (inner !== undefined && !(inner === null && attribute.default !== undefined)) {
      out.set(name, convert(inner, attribute.type, `${path}.${name}`));
    } else if (attribute.optional) out.set(name, attribute.default ?? null);
    else throw new Mismatch(path, `attribute ${JSON.stringify(name)} is required`);
  }
  return out;
};
