import type { Attribute, Block, BlockLabel, Body, Comment } from "./ast.ts";
import type { Expression } from "./expressions.ts";
import { type Source, SourceRange } from "./source.ts";

/** What all nodes of a file share. */
export interface FileInfo {
  readonly source: Source;
  /** Start and end of every comment, in turn. */
  readonly comments: readonly number[];
}

/** From this many arguments on, a body looks names up in a map. */
const MAP_FROM = 8;

/**
 * Nodes keep offsets and make ranges when asked: a large file has several times more ranges than anybody looks at.
 */
export class AttributeNode implements Attribute {
  readonly name: string;
  readonly expression: Expression;
  readonly #source: Source;
  readonly #start: number;
  readonly #equals: number;

  constructor(source: Source, name: string, start: number, equals: number, expression: Expression) {
    this.#source = source;
    this.name = name;
    this.#start = start;
    this.#equals = equals;
    this.expression = expression;
  }

  get nameRange(): SourceRange {
    return new SourceRange(this.#source, this.#start, this.#start + this.name.length);
  }

  get equalsRange(): SourceRange {
    return new SourceRange(this.#source, this.#equals, this.#equals + 1);
  }

  get range(): SourceRange {
    return new SourceRange(this.#source, this.#start, (this.expression.range as SourceRange).to);
  }
}

/** A block; all places are offsets. */
export class BlockNode implements Block {
  readonly type: string;
  readonly labels: readonly BlockLabel[];
  readonly body: Body;
  readonly #source: Source;
  readonly #start: number;
  readonly #definitionEnd: number;
  readonly #open: number;
  readonly #close: number;
  readonly #end: number;

  constructor(
    source: Source,
    type: string,
    labels: readonly BlockLabel[],
    body: Body,
    at: { start: number; definitionEnd: number; open: number; close: number; end: number },
  ) {
    this.#source = source;
    this.type = type;
    this.labels = labels;
    this.body = body;
    this.#start = at.start;
    this.#definitionEnd = at.definitionEnd;
    this.#open = at.open;
    this.#close = at.close;
    this.#end = at.end;
  }

  get typeRange(): SourceRange {
    return new SourceRange(this.#source, this.#start, this.#start + this.type.length);
  }

  get definitionRange(): SourceRange {
    return new SourceRange(this.#source, this.#start, this.#definitionEnd);
  }

  get openBraceRange(): SourceRange {
    return new SourceRange(this.#source, this.#open, this.#open + 1);
  }

  get closeBraceRange(): SourceRange {
    return new SourceRange(this.#source, this.#close, this.#end);
  }

  get range(): SourceRange {
    return new SourceRange(this.#source, this.#start, this.#end);
  }
}

/** A body that its parser fills. */
export class BodyNode implements Body {
  readonly kind = "body";
  readonly attributes: AttributeNode[] = [];
  readonly blocks: Block[] = [];
  readonly #file: FileInfo;
  readonly #from: number;
  #to: number;
  #comments: Comment[] | undefined;
  #names: Map<string, AttributeNode> | undefined;

  constructor(file: FileInfo, from: number) {
    this.#file = file;
    this.#from = from;
    this.#to = from;
  }

  get range(): SourceRange {
    return new SourceRange(this.#file.source, this.#from, this.#to);
  }

  get endRange(): SourceRange {
    return new SourceRange(this.#file.source, this.#to, this.#to);
  }

  /** Sets where the body ends. */
  finish(to: number): this {
    this.#to = to;
    return this;
  }

  /** Adds an argument whose name is new. */
  add(attribute: AttributeNode): void {
    this.attributes.push(attribute);
    if (this.#names) this.#names.set(attribute.name, attribute);
    else if (this.attributes.length >= MAP_FROM) this.#names = new Map(this.attributes.map((a) => [a.name, a]));
  }

  attribute(name: string): AttributeNode | undefined {
    return this.#names ? this.#names.get(name) : this.attributes.find((a) => a.name === name);
  }

  get comments(): readonly Comment[] {
    return (this.#comments ??= this.#ownComments());
  }

  /** Comments of this body without those of its blocks' bodies. */
  #ownComments(): Comment[] {
    const { source, comments: all } = this.#file;
    const found: Comment[] = [];
    let low = 0;
    for (let high = all.length >> 1; low < high;) {
      const mid = (low + high) >> 1;
      if ((all[mid * 2] as number) < this.#from) low = mid + 1;
      else high = mid;
    }
    let block = 0;
    for (let i = low * 2; i < all.length && (all[i] as number) < this.#to; i += 2) {
      const from = all[i] as number;
      let inner = this.blocks[block]?.body.range as SourceRange | undefined;
      while (inner !== undefined && inner.to <= from)
        inner = this.blocks[++block]?.body.range as SourceRange | undefined;
      if (inner !== undefined && inner.from <= from) continue;
      const range = new SourceRange(source, from, all[i + 1] as number);
      found.push({ text: range.text, range });
    }
    return found;
  }
}
