import type { Diagnostic, Range } from "./diagnostic.ts";
import type { Expression } from "./expressions.ts";

/**
 * A parsed file or the content of a block: arguments and nested blocks in the order of the source.
 * @public
 */
export interface Body {
  readonly kind: "body";
  /** Arguments in source order, without the refused repetitions of a name. */
  readonly attributes: readonly Attribute[];
  /** Nested blocks in source order. */
  readonly blocks: readonly Block[];
  /** Every comment between the items of this body (those inside an expression included), in source order. */
  readonly comments: readonly Comment[];
  readonly range: Range;
  /** An empty range where the body ends: before the closing brace, or at the end of the file. */
  readonly endRange: Range;
  /** The argument of that name, or undefined. Names like `__proto__` are plain data. */
  attribute(name: string): Attribute | undefined;
}

/**
 * `name = expression`.
 * @public
 */
export interface Attribute {
  readonly name: string;
  readonly nameRange: Range;
  readonly equalsRange: Range;
  readonly expression: Expression;
  readonly range: Range;
}

/**
 * `type "label" … { body }`.
 * @public
 */
export interface Block {
  readonly type: string;
  readonly typeRange: Range;
  readonly labels: readonly BlockLabel[];
  readonly body: Body;
  readonly openBraceRange: Range;
  readonly closeBraceRange: Range;
  /** Type and labels: what an error about the block as a whole points at. */
  readonly definitionRange: Range;
  readonly range: Range;
}

/**
 * A block label, quoted or bare.
 * @public
 */
export interface BlockLabel {
  readonly value: string;
  readonly range: Range;
}

/**
 * A comment with its markers, without the line end that follows a `#` or `//` comment.
 * @public
 */
export interface Comment {
  readonly text: string;
  readonly range: Range;
}

/**
 * What {@link parse} gives. The body is always there, with whatever could be understood.
 * @public
 */
export interface ParseResult {
  readonly body: Body;
  readonly diagnostics: readonly Diagnostic[];
}
