import type { Value } from "./value.ts";

/**
 * A type constraint, such as `list(string)` in a variable declaration.
 * @public
 */
export type HclType =
  | { readonly kind: "string" | "number" | "bool" | "any" }
  | { readonly kind: "list" | "set" | "map"; readonly element: HclType }
  | { readonly kind: "tuple"; readonly elements: readonly HclType[] }
  | { readonly kind: "object"; readonly attributes: ReadonlyMap<string, ObjectAttributeType> };

/**
 * An attribute of an object type.
 * @public
 */
export interface ObjectAttributeType {
  readonly type: HclType;
  /** Written as `optional(type)` or `optional(type, default)`. */
  readonly optional: boolean;
  readonly default?: Value;
}

/** Shorthands for function tables. */
export const STRING: HclType = { kind: "string" };
export const NUMBER: HclType = { kind: "number" };
export const BOOL: HclType = { kind: "bool" };
export const ANY: HclType = { kind: "any" };
export const listOf = (element: HclType): HclType => ({ kind: "list", element });
export const setOf = (element: HclType): HclType => ({ kind: "set", element });

/** The type as it is written. */
export const typeText = (t: HclType): string => {
  if (t.kind === "list" || t.kind === "set" || t.kind === "map") return `${t.kind}(${typeText(t.element)})`;
  if (t.kind === "tuple") return `tuple([${t.elements.map(typeText).join(", ")}])`;
  if (t.kind !== "object") return t.kind;
  const parts = [...t.attributes].map(
    ([name, a]) => `${name} = ${a.optional ? `optional(${typeText(a.type)})` : typeText(a.type)}`,
  );
  return `object({${parts.join(", ")}})`;
};
