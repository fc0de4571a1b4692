import type { Attribute, Block, BlockLabel, Body } from "./ast.ts";
import { isList, isMap, sortedEntries } from "./compare.ts";
import { toText, typeName } from "./convert.ts";
import type { Diagnostic, DiagnosticCode, Range } from "./diagnostic.ts";
import type { EvalContext } from "./eval-types.ts";
import { evaluate } from "./evaluate.ts";
import { keyword, startRange } from "./ranges.ts";
import type { Value } from "./value.ts";

/** Default of how many blocks one call may make. */
export const DEFAULT_MAX_BLOCKS = 10_000;

/**
 * A body without `dynamic` blocks. Attributes are still expressions, to be evaluated with the body's `context`.
 * @public
 */
export interface ExpandedBody {
  readonly body: Body;
  readonly attributes: readonly Attribute[];
  readonly blocks: readonly ExpandedBlock[];
  /** The scope of everything directly in this body: the given context, plus the iterators of the enclosing dynamic blocks. */
  readonly context: EvalContext;
  /** The argument of that name, or undefined. */
  attribute(name: string): Attribute | undefined;
}

/**
 * A block as written, or one made by a `dynamic` block.
 * @public
 */
export interface ExpandedBlock {
  readonly type: string;
  readonly typeRange: Range;
  readonly labels: readonly BlockLabel[];
  readonly body: ExpandedBody;
  readonly context: EvalContext;
  /** The block as written; for a made one, the `content` block. */
  readonly source: Block;
  /** The `dynamic` block that made it. */
  readonly dynamic: Block | undefined;
  readonly definitionRange: Range;
  readonly range: Range;
}

/**
 * Options of {@link expandDynamicBlocks}.
 * @public
 */
export interface ExpandOptions {
  /** How many blocks may be made in all. Default 10,000. */
  readonly maxBlocks?: number;
}

/**
 * What {@link expandDynamicBlocks} gives.
 * @public
 */
export interface ExpandResult {
  readonly body: ExpandedBody;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Replaces every `dynamic "type" { for_each = …, iterator = name, labels = […], content { … } }` at any depth by blocks, one
 * for each item of `for_each`; `name.key` and `name.value` (the type is the default name) are the item inside `labels` and `content`.
 * Wrong dynamic blocks are reported and left out.
 * @public
 */
export const expandDynamicBlocks = (body: Body, context: EvalContext, o: ExpandOptions = {}): ExpandResult => {
  const expander = new Expander(o.maxBlocks ?? DEFAULT_MAX_BLOCKS);
  return { body: expander.body(body, context), diagnostics: expander.diagnostics };
};

/** One `dynamic` block after its own arguments were checked. */
interface Dynamic {
  block: Block;
  type: BlockLabel;
  iterator: string;
  labels: Attribute | undefined;
  content: Block;
}

class Expander {
  readonly diagnostics: Diagnostic[] = [];
  #left: number;
  #stopped = false;

  constructor(maxBlocks: number) {
    this.#left = maxBlocks;
  }

  body(body: Body, context: EvalContext): ExpandedBody {
    const blocks = body.blocks.flatMap((b) =>
      b.type === "dynamic" ? this.#dynamic(b, context) : [this.#plain(b, context)],
    );
    return { body, attributes: body.attributes, blocks, context, attribute: (name) => body.attribute(name) };
  }

  #plain(block: Block, context: EvalContext): ExpandedBlock {
    const { type, typeRange, labels, definitionRange, range } = block;
    return {
      type,
      typeRange,
      labels,
      definitionRange,
      range,
      body: this.body(block.body, context),
      context,
      source: block,
      dynamic: undefined,
    };
  }

  #report(detail: string, subject: Range, code: DiagnosticCode = "invalid-dynamic-block"): undefined {
    this.diagnostics.push({ severity: "error", code, summary: "Invalid dynamic block", detail, subject });
    return undefined;
  }

  #dynamic(block: Block, context: EvalContext): ExpandedBlock[] {
    const made: ExpandedBlock[] = [];
    const dynamic = this.#check(block);
    const entries = dynamic && this.#entries(block, context);
    if (dynamic === undefined || entries === undefined) return made;
    for (const [key, value] of entries) {
      if (this.#stopped) break;
      if (--this.#left < 0) {
        this.#stopped = true;
        this.#report("The file makes too many blocks.", block.definitionRange, "limit-exceeded");
        break;
      }
      const item = this.#item(dynamic, key, value, context);
      if (item !== undefined) made.push(item);
    }
    return made;
  }

  #check(block: Block): Dynamic | undefined {
    const [type, extra] = block.labels;
    if (type === undefined || extra !== undefined) {
      return this.#report(
        "A dynamic block has one label: the type of the blocks that it makes.",
        (extra ?? type ?? { range: block.openBraceRange }).range,
      );
    }
    const odd = block.body.attributes.find((a) => !["for_each", "iterator", "labels"].includes(a.name));
    if (odd !== undefined)
      return this.#report(
        `A dynamic block has no argument ${JSON.stringify(odd.name)}; there are for_each, iterator and labels.`,
        odd.nameRange,
      );
    const iterator = block.body.attribute("iterator");
    const name = iterator === undefined ? type.value : keyword(iterator.expression);
    if (name === undefined)
      return this.#report("The iterator is a bare word.", iterator?.expression.range ?? block.typeRange);
    const other = block.body.blocks.find((b, i) => b.type !== "content" || i > 0);
    if (other !== undefined) return this.#report("A dynamic block holds one block, named content.", other.typeRange);
    const content = block.body.blocks[0];
    if (content === undefined) return this.#report("The content block is missing.", block.openBraceRange);
    const label = content.labels[0];
    if (label !== undefined) return this.#report("A content block has no labels.", label.range);
    return { block, type, iterator: name, labels: block.body.attribute("labels"), content };
  }

  #entries(block: Block, context: EvalContext): [Value, Value][] | undefined {
    const forEach = block.body.attribute("for_each");
    if (forEach === undefined) return this.#report('The argument "for_each" is missing.', block.openBraceRange);
    const { value, diagnostics } = evaluate(forEach.expression, context);
    this.diagnostics.push(...diagnostics);
    if (value === undefined) return undefined;
    if (isList(value)) return value.map((v, i) => [i, v]);
    if (value !== null && isMap(value)) return sortedEntries(value);
    return this.#report(
      `for_each takes a list or map, not ${value === null ? "null" : `a ${typeName(value)}`}.`,
      startRange(forEach.expression),
    );
  }

  #item(d: Dynamic, key: Value, value: Value, parent: EvalContext): ExpandedBlock | undefined {
    const variables = new Map<string, Value>([
      [
        d.iterator,
        new Map([
          ["key", key],
          ["value", value],
        ]),
      ],
    ]);
    const context: EvalContext = { variables, parent };
    const labels = d.labels === undefined ? [] : this.#labels(d.labels, context);
    if (labels === undefined) return undefined;
    return {
      type: d.type.value,
      typeRange: d.type.range,
      labels,
      body: this.body(d.content.body, context),
      context,
      source: d.content,
      dynamic: d.block,
      definitionRange: d.block.definitionRange,
      range: d.block.range,
    };
  }

  #labels(attribute: Attribute, context: EvalContext): BlockLabel[] | undefined {
    const { value, diagnostics } = evaluate(attribute.expression, context);
    this.diagnostics.push(...diagnostics);
    if (value === undefined) return undefined;
    const range = startRange(attribute.expression);
    const texts = isList(value) ? value.map(toText) : [undefined];
    if (!texts.every((t) => t !== undefined)) return this.#report("labels is a list of strings.", range);
    return texts.map((t) => ({ value: t, range }));
  }
}
