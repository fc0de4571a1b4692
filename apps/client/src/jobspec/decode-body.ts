import {
  startRange,
  type Attribute,
  type Diagnostic,
  type ExpandedBlock,
  type ExpandedBody,
  type Range,
  type Value,
} from "@outrider/hcl";
import { push, type AttributeSpec, type BodySpec, type NestedSpec, type Part, type Placed } from "./block-spec.ts";
import type { JobDiagnostic, JobspecCode } from "./diagnostics.ts";
import type { FileEvaluator } from "./evaluator.ts";
import { didYouMean } from "./suggest.ts";
import { freeFault, freeValue, readAttribute } from "./values.ts";

/** Turns bodies into parts of a job by their specs; faults are collected, and decoding goes on behind them. */
export class BodyDecoder {
  readonly #evaluator: FileEvaluator;
  readonly diagnostics: (JobDiagnostic | Diagnostic)[] = [];

  constructor(evaluator: FileEvaluator) {
    this.#evaluator = evaluator;
  }

  report(code: JobspecCode, summary: string, detail: string, subject: Range): undefined {
    this.diagnostics.push({ severity: "error", code, summary, detail, subject });
    return undefined;
  }

  /** The value of an attribute; undefined after a fault. */
  value(attribute: Attribute, body: ExpandedBody): Value | undefined {
    const { value, diagnostics } = this.#evaluator.evaluate(attribute.expression, body.context);
    this.diagnostics.push(...diagnostics);
    return value;
  }

  /** A body with known attributes and blocks. */
  body(body: ExpandedBody, spec: BodySpec, label: string | undefined, range: Range): Part {
    const part = spec.zero(label);
    for (const attribute of body.attributes) this.#attribute(part, attribute, body, spec);
    const first = new Map<string, ExpandedBlock>();
    for (const block of body.blocks) this.#block(part, block, body, spec, first);
    spec.finish?.(part, this.#placed(body, label, range));
    return part;
  }

  #placed(body: ExpandedBody, label: string | undefined, range: Range): Placed {
    return {
      label,
      range,
      fail: (summary, detail, subject) => {
        this.report("invalid-block-content", summary, detail, subject ?? range);
      },
      attributeRange: (name) => body.attribute(name)?.nameRange,
    };
  }

  #attribute(part: Part, attribute: Attribute, body: ExpandedBody, spec: BodySpec): void {
    const mapKey = own(spec.maps, attribute.name);
    const known = own(spec.attributes, attribute.name) ?? (mapKey === undefined ? undefined : asMap(mapKey));
    if (known === undefined) return this.#unknownAttribute(attribute, spec);
    const value = this.value(attribute, body);
    if (value === undefined || value === null) return;
    const read = readAttribute(value, known.type);
    if (!read.ok) return this.#unsuitable(attribute, read.why);
    const [min, max] = known.range ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    if (known.range === undefined || ((read.value as number) >= min && (read.value as number) <= max)) {
      part[known.key] = read.value;
    } else this.#unsuitable(attribute, `it must be between ${min} and ${max}`);
  }

  #unsuitable(attribute: Attribute, why: string): void {
    const detail = `The argument "${attribute.name}" cannot have this value: ${why}.`;
    this.report("unsuitable-value", "Unsuitable value", detail, startRange(attribute.expression));
  }

  #unknownAttribute(attribute: Attribute, spec: BodySpec): void {
    const name = attribute.name;
    const hint = Object.hasOwn(spec.blocks, name)
      ? ` It is a block: write "${name} {" instead of "${name} =".`
      : didYouMean(name, [...Object.keys(spec.attributes), ...Object.keys(spec.maps ?? {})]);
    this.report(
      "unsupported-argument",
      "Unknown argument",
      `There is no argument "${name}" here.${hint}`,
      attribute.nameRange,
    );
  }

  #block(
    part: Part,
    block: ExpandedBlock,
    body: ExpandedBody,
    spec: BodySpec,
    first: Map<string, ExpandedBlock>,
  ): void {
    const mapKey = own(spec.maps, block.type);
    const known: NestedSpec | undefined =
      own(spec.blocks, block.type) ?? (mapKey === undefined ? undefined : { body: "strings", key: mapKey });
    if (known === undefined) return this.#unknownBlock(block, spec);
    if (mapKey !== undefined && body.attribute(block.type) !== undefined) {
      this.report(
        "duplicate-block",
        "Given twice",
        `"${block.type}" is given as an argument and as a block.`,
        block.typeRange,
      );
      return;
    }
    const earlier = first.get(block.type);
    if (earlier !== undefined && known.many !== true && known.put === undefined) {
      const line = earlier.typeRange.start.line;
      const detail = `There can be one "${block.type}" block here; the first one is on line ${line}.`;
      this.report("duplicate-block", "Block given twice", detail, block.typeRange);
      return;
    }
    first.set(block.type, block);
    if (!this.#labelsFit(block, known)) return;
    this.#place(part, block, known);
  }

  #place(part: Part, block: ExpandedBlock, known: NestedSpec): void {
    const label = block.labels[0]?.value;
    const value = this.#content(block, known, label);
    if (known.put !== undefined) known.put(part, value, this.#placed(block.body, label, block.typeRange));
    else if (known.many === true) push(part, known.key as string, value);
    else part[known.key as string] = value;
  }

  #content(block: ExpandedBlock, known: NestedSpec, label: string | undefined): Part {
    if (known.body === "free") return this.free(block.body);
    if (known.body === "strings") return this.#valuesOf(block.body, "str");
    if (known.body === "string-lists") return this.#valuesOf(block.body, "strings");
    return this.body(block.body, known.body, label, block.typeRange);
  }

  #labelsFit(block: ExpandedBlock, known: NestedSpec): boolean {
    const wanted = known.label === undefined ? 0 : 1;
    const extra = block.labels[wanted];
    if (extra !== undefined) {
      const takes = wanted === 0 ? "no label" : "one label";
      this.report("extra-label", "Label too many", `A "${block.type}" block takes ${takes}.`, extra.range);
      return false;
    }
    if (block.labels.length < wanted) {
      const detail = `A "${block.type}" block needs a label: its ${known.label}.`;
      this.report("missing-label", "Label missing", detail, block.source.openBraceRange);
      return false;
    }
    return true;
  }

  #unknownBlock(block: ExpandedBlock, spec: BodySpec): void {
    const hint =
      Object.hasOwn(spec.attributes, block.type) && block.labels.length === 0
        ? ` It is an argument: write "${block.type} =" with a value.`
        : didYouMean(block.type, [...Object.keys(spec.blocks), ...Object.keys(spec.maps ?? {})]);
    this.report(
      "unsupported-block",
      "Unknown block",
      `There is no "${block.type}" block here.${hint}`,
      block.typeRange,
    );
  }

  /** A block whose arguments are all free, each of one type. */
  #valuesOf(body: ExpandedBody, type: "str" | "strings"): Part {
    const out: Part = {};
    for (const block of body.blocks) {
      this.report("unsupported-block", "Unknown block", `There is no "${block.type}" block here.`, block.typeRange);
    }
    for (const attribute of sorted(body.attributes)) {
      const value = this.value(attribute, body);
      if (value === undefined || value === null) continue;
      const read = readAttribute(value, type);
      if (!read.ok) this.#unsuitable(attribute, read.why);
      else if (attribute.name !== "__proto__") out[attribute.name] = read.value;
      else
        this.report("unsupported-argument", "Unknown argument", "No argument can have this name.", attribute.nameRange);
    }
    return out;
  }

  /**
   * Free content: a block becomes a list of objects (labels are objects around it), an argument with an object value a
   * list with that object. This is the shape that drivers read.
   */
  free(body: ExpandedBody): Part {
    const entries = new Map<string, unknown>();
    for (const attribute of body.attributes) {
      const value = this.value(attribute, body);
      if (value === undefined || value === null) continue;
      const fault = attribute.name === "__proto__" ? "no argument can have this name" : freeFault(value);
      if (fault !== undefined) this.#unsuitable(attribute, fault);
      else entries.set(attribute.name, value instanceof Map ? [freeValue(value)] : freeValue(value));
    }
    for (const block of body.blocks) this.#freeBlock(block, entries);
    const out: Part = {};
    for (const key of [...entries.keys()].sort((a, b) => (a < b ? -1 : 1))) out[key] = entries.get(key);
    return out;
  }

  #freeBlock(block: ExpandedBlock, entries: Map<string, unknown>): void {
    const names = [block.type, ...block.labels.map((label) => label.value)];
    if (names.includes("__proto__")) {
      this.report("unsupported-block", "Unknown block", "No block or label can have this name.", block.typeRange);
      return;
    }
    let value: Part = this.free(block.body);
    for (const label of block.labels.toReversed()) value = { [label.value]: [value] };
    const list = entries.get(block.type);
    if (Array.isArray(list)) list.push(value);
    else if (list === undefined) entries.set(block.type, [value]);
    else
      this.report(
        "duplicate-block",
        "Given twice",
        `"${block.type}" is given as an argument and as a block.`,
        block.typeRange,
      );
  }
}

const asMap = (key: string): AttributeSpec => ({ key, type: "stringMap" });

function sorted(attributes: readonly Attribute[]): Attribute[] {
  return attributes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function own<T>(table: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}
