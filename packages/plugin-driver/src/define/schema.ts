/** Schemas of configuration blocks, from which the types of the decoded values are inferred. */
import type { HclSpec } from "../contract/hclspec.ts";
import { ConfigError } from "../config/config-error.ts";

/** One key of a block: what the agent is told of it, and how its value is read. `T` is the value's type. @public */
export interface SchemaNode<out T> {
  /** The node for the agent, under the key that holds it. */
  spec(name: string): HclSpec;
  /** Checks and converts a decoded value. @throws {@link ConfigError} */
  read(value: unknown, field: string): T;
}

/** The type that a schema decodes to. @public */
export type ConfigOf<S> = S extends SchemaNode<infer T> ? T : never;

/** So much of a wrong value is shown. */
const MAX_SHOWN_CHARS = 200;

function wrong(field: string, want: string, value: unknown): never {
  const json = JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner));
  const have = json ?? String(value);
  const shown = have.length > MAX_SHOWN_CHARS ? `${have.slice(0, MAX_SHOWN_CHARS)}…` : have;
  throw new ConfigError([{ field, message: `${want} is required, but have ${shown}` }]);
}

/** A type expression with its reader; null never reaches `read`. */
interface ValueType<T> {
  readonly text: string;
  read(value: unknown, field: string): T;
}

/**
 * An attribute (`key = value`): optional unless `required()` or `default()` is called.
 * @public
 */
export class Attribute<T, Out = T | undefined> implements SchemaNode<Out> {
  /** @internal */
  readonly type: ValueType<T>;
  readonly #required: boolean;
  readonly #default: { readonly value: T } | undefined;

  /** @internal */
  constructor(type: ValueType<T>, required = false, fallback?: { readonly value: T }) {
    this.type = type;
    this.#required = required;
    this.#default = fallback;
  }

  /** The agent refuses a job that leaves it out. */
  required(): Attribute<T, T> {
    return new Attribute<T, T>(this.type, true);
  }

  /** Taken where the job leaves it out. */
  default(value: T): Attribute<T, T> {
    return new Attribute<T, T>(this.type, false, { value });
  }

  spec(name: string): HclSpec {
    const attr: HclSpec = { kind: "attr", name, type: this.type.text, required: this.#required };
    if (this.#default === undefined) return attr;
    return { kind: "default", primary: attr, default: { kind: "literal", value: literal(this.#default.value) } };
  }

  read(value: unknown, field: string): Out {
    if (value !== null && value !== undefined) return this.type.read(value, field) as unknown as Out;
    if (this.#required) return wrong(field, "a value", value);
    return this.#default?.value as Out;
  }
}

/** The text of a value as an expression; JSON is one, but for templates in its strings. */
function literal(value: unknown): string {
  const json = JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? Number(inner) : inner));
  return json.replace(/[$%]\{/g, (sign) => `${sign.slice(0, 1)}${sign}`);
}

type Shape = Readonly<Record<string, SchemaNode<unknown>>>;
/** The decoded type of an object of nodes. @public */
export type ConfigOfShape<S extends Shape> = { readonly [K in keyof S]: ConfigOf<S[K]> };

/** A whole block. @public */
export class Block<S extends Shape> implements SchemaNode<ConfigOfShape<S>> {
  readonly shape: S;

  /** @internal */
  constructor(shape: S) {
    this.shape = shape;
  }

  spec(_name = ""): HclSpec {
    return {
      kind: "object",
      attributes: Object.fromEntries(Object.entries(this.shape).map(([key, node]) => [key, node.spec(key)])),
    };
  }

  read(value: unknown, field = "config"): ConfigOfShape<S> {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong(field, "a block", value);
    const given = value as Readonly<Record<string, unknown>>;
    const out: Record<string, unknown> = {};
    for (const [key, node] of Object.entries(this.shape)) {
      out[key] = node.read(Object.hasOwn(given, key) ? given[key] : undefined, `${field}.${key}`);
    }
    return out as ConfigOfShape<S>;
  }
}

const node = <T>(spec: (name: string) => HclSpec, read: (value: unknown, field: string) => T): SchemaNode<T> => ({
  spec,
  read,
});

const listed = <T>(type: ValueType<T>, value: unknown, field: string): T[] => {
  if (!Array.isArray(value)) return wrong(field, "a list", value);
  return value.map((item: unknown, i) => type.read(item, `${field}[${i}]`));
};

const mapped = <T>(type: ValueType<T>, value: unknown, field: string): Record<string, T> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong(field, "a map", value);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, type.read(item, `${field}.${key}`)]));
};

const STRING: ValueType<string> = {
  text: "string",
  read: (value, field) => (typeof value === "string" ? value : wrong(field, "a string", value)),
};
const BOOL: ValueType<boolean> = {
  text: "bool",
  read: (value, field) => (typeof value === "boolean" ? value : wrong(field, "a bool", value)),
};
const NUMBER: ValueType<number> = {
  text: "number",
  read: (value, field) => {
    // Fractions such as 0.1 travel as text.
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number === "number" && !Number.isNaN(number)) return number;
    return wrong(field, "a number below 2^53", value);
  },
};
const BIGINT: ValueType<bigint> = {
  text: "number",
  read: (value, field) => {
    if (typeof value === "bigint") return value;
    if (Number.isInteger(value) || (typeof value === "string" && /^-?\d+$/.test(value))) return BigInt(value as string);
    return wrong(field, "a whole number", value);
  },
};
const ANY: ValueType<unknown> = { text: "any", read: (value) => value };

/** Looks through a schema for attributes of any type. */
function refuseAny(spec: HclSpec, field: string): void {
  if ("type" in spec && /\bany\b/.test(spec.type)) {
    throw new ConfigError([
      { field: `${field}.${spec.name}`, message: `type ${spec.type} is not possible in a blockMap` },
    ]);
  }
  if (spec.kind === "object") for (const inner of Object.values(spec.attributes)) refuseAny(inner, field);
  if (spec.kind === "default") refuseAny(spec.primary, field);
  if ("nested" in spec) refuseAny(spec.nested, field);
}

/**
 * Builders of schemas. Attributes: `string number bigint bool any list set map`; blocks: `block blockList blockMap blockAttrs`;
 * `object` is the whole.
 * @public
 */
export const schema = {
  string: (): Attribute<string> => new Attribute(STRING),
  /** A number; fractions are read as the double next to them. */
  number: (): Attribute<number> => new Attribute(NUMBER),
  /** A whole number of any size. */
  bigint: (): Attribute<bigint> => new Attribute(BIGINT),
  bool: (): Attribute<boolean> => new Attribute(BOOL),
  any: (): Attribute<unknown> => new Attribute(ANY),
  list: <T>(of: Attribute<T, unknown>): Attribute<readonly T[]> =>
    new Attribute<readonly T[]>({
      text: `list(${of.type.text})`,
      read: (value, field) => listed(of.type, value, field),
    }),
  set: <T>(of: Attribute<T, unknown>): Attribute<readonly T[]> =>
    new Attribute<readonly T[]>({
      text: `set(${of.type.text})`,
      read: (value, field) => listed(of.type, value, field),
    }),
  /** `key = { a = "b" }`. A job that writes `key { a = "b" }` needs {@link schema.blockAttrs}. */
  map: <T>(of: Attribute<T, unknown>): Attribute<Readonly<Record<string, T>>> =>
    new Attribute<Readonly<Record<string, T>>>({
      text: `map(${of.type.text})`,
      read: (value, field) => mapped(of.type, value, field),
    }),
  /** `key { a = "b" }` with free keys. */
  blockAttrs: <T>(of: Attribute<T, unknown>): SchemaNode<Readonly<Record<string, T>> | undefined> =>
    node(
      (name) => ({ kind: "blockAttrs", name, type: of.type.text, required: false }),
      (value, field) => (value === null || value === undefined ? undefined : mapped(of.type, value, field)),
    ),
  /** `key { … }`, at most once. */
  block: <S extends Shape>(shape: S): SchemaNode<ConfigOfShape<S> | undefined> => {
    const inner = new Block(shape);
    return node(
      (name) => ({ kind: "block", name, required: false, nested: inner.spec() }),
      (value, field) => (value === null || value === undefined ? undefined : inner.read(value, field)),
    );
  },
  /** `key { … }`, any number of times. */
  blockList: <S extends Shape>(
    shape: S,
    o: { readonly min?: number; readonly max?: number } = {},
  ): SchemaNode<readonly ConfigOfShape<S>[]> => {
    const inner = new Block(shape);
    return node(
      (name) => ({ kind: "blockList", name, minItems: o.min ?? 0, maxItems: o.max ?? 0, nested: inner.spec() }),
      (value, field) => {
        if (value === null || value === undefined) return [];
        if (!Array.isArray(value)) return wrong(field, "a list of blocks", value);
        return value.map((item: unknown, i) => inner.read(item, `${field}[${i}]`));
      },
    );
  },
  /**
   * `key "label" { … }`.
   * @throws {@link ConfigError} for an `any` inside: a stock agent that reads such a block ends with a panic
   */
  blockMap: <S extends Shape>(label: string, shape: S): SchemaNode<Readonly<Record<string, ConfigOfShape<S>>>> => {
    const inner = new Block(shape);
    refuseAny(inner.spec(), label);
    return node(
      (name) => ({ kind: "blockMap", name, labels: [label], nested: inner.spec() }),
      (value, field) => {
        if (typeof value !== "object" || value === null || Array.isArray(value)) {
          return value === null || value === undefined ? {} : wrong(field, "labelled blocks", value);
        }
        return Object.fromEntries(
          Object.entries(value).map(([key, item]) => [key, inner.read(item, `${field}[${JSON.stringify(key)}]`)]),
        );
      },
    );
  },
  /** The whole block of a task or of the plugin. */
  object: <S extends Shape>(shape: S): Block<S> => new Block(shape),
} as const;
