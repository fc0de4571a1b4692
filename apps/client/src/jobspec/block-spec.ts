import type { Range } from "@outrider/hcl";

/** A plain object in the making: a part of a job in its submitted form. */
export type Part = Record<string, unknown>;

/** How the value of an attribute is read. `duration` is nanoseconds; `stringMap` converts its values to text. */
export type AttributeType = "str" | "int" | "bool" | "duration" | "strings" | "stringMap" | "stringLists";

/** An attribute: the key it sets, and how. */
export interface AttributeSpec {
  readonly key: string;
  readonly type: AttributeType;
  /** Smallest and largest whole number that is taken. */
  readonly range?: readonly [number, number];
}

/** What is known of a block when it is put into its parent. */
export interface Placed {
  readonly label: string | undefined;
  readonly range: Range;
  /** Reports a fault of the block as a whole or of one of its attributes. */
  fail(summary: string, detail: string, subject?: Range): void;
  /** Where an attribute's name stands, for faults that are found later. */
  attributeRange(name: string): Range | undefined;
}

/** A nested block. */
export interface NestedSpec {
  readonly body: BodySpec | "strings" | "free" | "string-lists";
  /** The key of the parent that gets the value (`one`) or a list of values (`many`). */
  readonly key?: string;
  readonly many?: boolean;
  /** Instead of `key`: puts the value by hand. */
  readonly put?: (parent: Part, value: Part, placed: Placed) => void;
  /** Name of the label, when there is one. */
  readonly label?: string;
}

/** What a body may hold and what it becomes. */
export interface BodySpec {
  readonly attributes: Readonly<Record<string, AttributeSpec>>;
  readonly blocks: Readonly<Record<string, NestedSpec>>;
  /** Names that are allowed both as a block and as an attribute with a map. */
  readonly maps?: Readonly<Record<string, string>>;
  /** A new object with every key of the stock parser's output. */
  zero(label: string | undefined): Part;
  /** Last changes once all attributes and blocks are in. */
  finish?(part: Part, placed: Placed): void;
}

const attribute =
  (type: AttributeType) =>
  (key: string): AttributeSpec => ({ key, type });

/** Builders for attribute tables. */
export const str = attribute("str");
export const int = attribute("int");
export const intWithin = (key: string, min: number, max: number): AttributeSpec => ({
  key,
  type: "int",
  range: [min, max],
});
export const bool = attribute("bool");
export const duration = attribute("duration");
export const strings = attribute("strings");
export const stringMap = attribute("stringMap");

/** Adds to the list under a key, which may be null. */
export function push(parent: Part, key: string, value: unknown): void {
  const list = parent[key];
  if (Array.isArray(list)) list.push(value);
  else parent[key] = [value];
}
