/** Reads a configuration block (plain data whose texts are templates) by a schema, as Nomad's client does for its drivers. */
import {
  convertValue,
  decodeType,
  type EvalContext,
  evaluate,
  type HclType,
  parseExpression,
  parseTemplate,
  type Value,
  valueFromJs,
  valuesEqual,
  type Variables,
} from "@outrider/hcl";
import type { HclSpec } from "../contract/hclspec.ts";
import { ConfigError, type ConfigIssue } from "./config-error.ts";
import { configFunctions } from "./functions.ts";

/** Options of {@link decodeConfig}. @public */
export interface DecodeConfigOptions {
  /** What `${…}` may name, as plain nested data. Plugin configuration has none. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** How the block is called in errors. Default `config`. */
  readonly field?: string;
}

type Body = readonly (readonly [key: string, value: unknown])[];

const MAX_DEPTH = 64;
/** Levels of one attribute's value: what a driver decodes again. */
const MAX_VALUE_DEPTH = 100;

/** A schema by shape: which keys a body may have. */
class Decoder {
  readonly #variables: Readonly<Record<string, unknown>>;
  #context: EvalContext | undefined;
  readonly #types = new Map<string, HclType | undefined>();
  readonly issues: ConfigIssue[] = [];

  constructor(variables: Readonly<Record<string, unknown>>) {
    this.#variables = variables;
  }

  /** A task has hundreds of variables, and most texts name none. */
  get context(): EvalContext {
    const variables = (): Variables =>
      Object.fromEntries(Object.entries(this.#variables).map(([name, value]) => [name, valueFromJs(value)]));
    return (this.#context ??= { variables: variables(), functions: configFunctions });
  }

  issue(field: string, message: string): null {
    this.issues.push({ field, message });
    return null;
  }

  /** Objects, or a list of objects one after another; `//` is a comment. */
  body(value: unknown, field: string): Body {
    const parts = Array.isArray(value) ? (value as unknown[]) : [value];
    return parts.flatMap((part): [string, unknown][] => {
      if (typeof part !== "object" || part === null || Array.isArray(part)) {
        this.issue(field, `an object is required, but have ${kindOf(part)}`);
        return [];
      }
      return Object.entries(part).filter(([key]) => key !== "//");
    });
  }

  object(spec: HclSpec, body: Body, field: string, depth = 0): Value {
    const names = new Set(keysOf(spec, ""));
    for (const [key] of body) {
      if (!names.has(key)) this.issue(`${field}.${key}`, "the driver's schema has no such key");
    }
    return this.read(spec, "", body, field, depth);
  }

  /** The value of one node of the schema out of the body it belongs to. */
  read(spec: HclSpec, implied: string, body: Body, field: string, depth: number): Value {
    if (depth > MAX_DEPTH) return this.issue(field, `nested deeper than ${MAX_DEPTH}`);
    const name = "name" in spec && spec.name !== "" ? spec.name : implied;
    const at = `${field}.${name}`;
    switch (spec.kind) {
      case "object":
        return new Map(
          Object.entries(spec.attributes).map(([key, inner]) => [key, this.read(inner, key, body, field, depth + 1)]),
        );
      case "array":
        return spec.values.map((inner) => this.read(inner, "", body, field, depth + 1));
      case "literal":
        return this.#expression(spec.value, field);
      case "default": {
        const primary = this.read(spec.primary, "", body, field, depth + 1);
        return primary ?? this.read(spec.default, "", body, field, depth + 1);
      }
      case "attr":
        return this.#attribute(spec, name, body, at);
      case "blockAttrs": {
        const [block] = this.#blocks(spec, name, body, at, false);
        if (block === undefined) return null;
        const type = this.#type(spec.type, at);
        return new Map(
          block.body.map(([key, value]) => [
            key,
            this.#convert(this.#value(value, `${at}.${key}`), type, `${at}.${key}`),
          ]),
        );
      }
      case "block": {
        const [block] = this.#blocks(spec, name, body, at, false);
        return block === undefined ? null : this.object(spec.nested, block.body, at, depth + 1);
      }
      case "blockList":
      case "blockSet": {
        const blocks = this.#blocks(spec, name, body, at, true);
        if (blocks.length < spec.minItems) {
          this.issue(at, `at least ${spec.minItems} blocks are required, but have ${blocks.length}`);
        }
        if (spec.maxItems > 0 && blocks.length > spec.maxItems) {
          this.issue(at, `at most ${spec.maxItems} blocks are allowed, but have ${blocks.length}`);
        }
        const values = blocks.map((block, i) => this.object(spec.nested, block.body, `${at}[${i}]`, depth + 1));
        if (spec.kind === "blockList") return values;
        return values.filter((value, i) => values.findIndex((other) => valuesEqual(other, value)) === i);
      }
      case "blockMap":
        return this.#blockMap(spec, name, body, at, depth);
    }
  }

  #attribute(spec: HclSpec & { kind: "attr" }, name: string, body: Body, at: string): Value {
    const given = body.filter(([key]) => key === name);
    const [first] = given;
    if (name === "") return this.issue(at, "the schema's attribute has no name");
    if (given.length > 1) return this.issue(at, "is given twice");
    if (first === undefined) return spec.required ? this.issue(at, "is required") : null;
    return this.#convert(this.#value(first[1], at), this.#type(spec.type, at), at);
  }

  #blocks(spec: HclSpec, name: string, body: Body, at: string, many: boolean): { readonly body: Body }[] {
    if (name === "") {
      this.issue(at, "the schema's block has no name");
      return [];
    }
    const values = body.filter(([key]) => key === name).map(([, value]) => value);
    const blocks = values
      .flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : value === null ? [] : [value]))
      .map((value) => ({ body: this.body(value, at) }));
    if (many) return blocks;
    if (blocks.length > 1) this.issue(at, "only one block is allowed");
    if (blocks.length === 0 && "required" in spec && spec.required) this.issue(at, "the block is required");
    return blocks;
  }

  #blockMap(spec: HclSpec & { kind: "blockMap" }, name: string, body: Body, at: string, depth: number): Value {
    if (name === "") return this.issue(at, "the schema's block map has no name");
    if (spec.labels.length === 0) return this.issue(at, "the schema's block map has no labels");
    const out = new Map<string, Value>();
    const peel = (value: unknown, labels: readonly string[], into: Map<string, Value>, path: string): void => {
      const [, ...rest] = labels;
      for (const [label, inner] of this.body(value, path)) {
        const where = `${path}[${JSON.stringify(label)}]`;
        if (rest.length > 0) {
          const next = (into.get(label) as Map<string, Value> | undefined) ?? new Map<string, Value>();
          into.set(label, next);
          peel(inner, rest, next, where);
          continue;
        }
        for (const one of Array.isArray(inner) ? (inner as unknown[]) : inner === null ? [] : [inner]) {
          if (into.has(label)) this.issue(where, "is given twice");
          else into.set(label, this.object(spec.nested, this.body(one, where), where, depth + 1));
        }
      }
    };
    for (const [key, value] of body) if (key === name && value !== null) peel(value, spec.labels, out, at);
    return out;
  }

  /** Data as a value: texts and keys are templates. */
  #value(value: unknown, at: string, depth = 0): Value {
    if (typeof value === "string") return this.#template(value, at);
    if (depth > MAX_VALUE_DEPTH) return this.issue(at, `nested deeper than ${MAX_VALUE_DEPTH}`);
    if (Array.isArray(value)) return value.map((item: unknown, i) => this.#value(item, `${at}[${i}]`, depth + 1));
    if (typeof value === "object" && value !== null) {
      const out = new Map<string, Value>();
      for (const [text, inner] of Object.entries(value)) {
        const key = this.#template(text, at);
        if (typeof key === "string") out.set(key, this.#value(inner, `${at}.${key}`, depth + 1));
        else this.issue(at, `key ${JSON.stringify(text)} is no text`);
      }
      return out;
    }
    try {
      return valueFromJs(value);
    } catch (reason) {
      return this.issue(at, reason instanceof Error ? reason.message : String(reason));
    }
  }

  #template(text: string, at: string): Value {
    if (!text.includes("${") && !text.includes("%{")) return text;
    const { expression, diagnostics } = parseTemplate(text);
    // A text that is one `${…}` and nothing else keeps the type of what stands inside.
    const [lone, ...others] = expression?.kind === "template" ? expression.parts : [];
    const unwrapped = lone !== undefined && others.length === 0 && !lone.kind.startsWith("template");
    return this.#evaluate({ expression: unwrapped ? lone : expression, diagnostics }, text, at);
  }

  #expression(text: string, at: string): Value {
    return this.#evaluate(parseExpression(text), text, at);
  }

  #evaluate({ expression, diagnostics }: ReturnType<typeof parseExpression>, text: string, at: string): Value {
    const problems = [...diagnostics];
    let value: Value | undefined;
    if (expression !== undefined) {
      const result = evaluate(expression, this.context);
      problems.push(...result.diagnostics);
      value = result.value;
    }
    if (value !== undefined) return value;
    const why = problems.find(({ severity }) => severity === "error");
    const reason = why === undefined ? "cannot be evaluated" : `${why.summary}: ${why.detail}`;
    return this.issue(at, `${JSON.stringify(text)}: ${reason}`);
  }

  #type(text: string, at: string): HclType | undefined {
    if (!this.#types.has(text)) {
      const { expression } = parseExpression(text);
      const type = expression === undefined ? undefined : decodeType(expression).type;
      // A null expression leaves the type open.
      this.#types.set(text, text.trim() === "null" ? { kind: "any" } : type);
    }
    const type = this.#types.get(text);
    if (type === undefined) this.issue(at, `the schema's type ${JSON.stringify(text)} is none`);
    return type;
  }

  #convert(value: Value, type: HclType | undefined, at: string): Value {
    if (type === undefined || value === null) return null;
    const result = convertValue(value, type);
    if (result.ok) return result.value;
    return this.issue(`${at}${result.path}`, `incorrect value type: ${result.message}`);
  }
}

/** The body keys that a schema takes. */
function keysOf(spec: HclSpec, implied: string): string[] {
  switch (spec.kind) {
    case "object":
      return Object.entries(spec.attributes).flatMap(([key, inner]) => keysOf(inner, key));
    case "array":
      return spec.values.flatMap((inner) => keysOf(inner, ""));
    case "default":
      return [...keysOf(spec.primary, ""), ...keysOf(spec.default, "")];
    case "literal":
      return [];
    default:
      return [spec.name === "" ? implied : spec.name];
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

/**
 * Decodes a block: the value that the driver gets, with every attribute of the schema in it.
 * @throws {@link ConfigError}
 * @public
 */
export function decodeConfig(spec: HclSpec, input: unknown, o: DecodeConfigOptions = {}): Value {
  const decoder = new Decoder(o.variables ?? {});
  const field = o.field ?? "config";
  const value = decoder.object(spec, decoder.body(input ?? {}, field), field);
  if (decoder.issues.length > 0) throw new ConfigError(decoder.issues);
  return value;
}
