/**
 * A place in a source text.
 * @public
 */
export interface Pos {
  /** 1-based. */
  readonly line: number;
  /** 1-based, counted in grapheme clusters (what a reader calls a character). */
  readonly column: number;
  /** 0-based offset in bytes of UTF-8. */
  readonly byte: number;
}

/**
 * From `start` up to, not including, `end`.
 * @public
 */
export interface Range {
  readonly filename: string;
  readonly start: Pos;
  readonly end: Pos;
}

/**
 * Codes of everything the parser and the evaluator report. They are never reused for something else.
 * @public
 */
export type DiagnosticCode =
  | "invalid-encoding"
  | "invalid-character"
  | "unsupported-operator"
  | "newline-in-string"
  | "unterminated-template"
  | "invalid-escape"
  | "invalid-number"
  | "too-large"
  | "too-deep"
  | "too-many-errors"
  | "missing-item"
  | "quoted-argument-name"
  | "duplicate-argument"
  | "unclosed-block"
  | "invalid-block"
  | "invalid-block-label"
  | "single-line-block"
  | "missing-newline"
  | "missing-expression"
  | "invalid-expression"
  | "unclosed-parens"
  | "unclosed-call"
  | "unclosed-tuple"
  | "unclosed-object"
  | "unclosed-index"
  | "missing-separator"
  | "missing-object-value"
  | "missing-else"
  | "invalid-for"
  | "invalid-splat"
  | "invalid-attribute-name"
  | "invalid-interpolation"
  | "invalid-directive"
  | "extra-characters"
  | "unknown-variable"
  | "unknown-attribute"
  | "unknown-function"
  | "invalid-index"
  | "invalid-operand"
  | "invalid-condition"
  | "inconsistent-types"
  | "invalid-template-value"
  | "invalid-object-key"
  | "duplicate-object-key"
  | "invalid-iteration"
  | "too-few-arguments"
  | "too-many-arguments"
  | "invalid-argument"
  | "function-failed"
  | "invalid-type"
  | "limit-exceeded"
  | "invalid-dynamic-block";

/**
 * One finding with its place.
 * @public
 */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  /** Stable; see {@link DiagnosticCode}. */
  readonly code: DiagnosticCode;
  /** A few words. */
  readonly summary: string;
  /** One or two sentences with the offending text. */
  readonly detail: string;
  /** What is wrong. */
  readonly subject: Range;
  /** The construct around it, where that helps. */
  readonly context?: Range;
}
