import type { Expression } from "./expressions.ts";
import type { Diagnostic, DiagnosticCode } from "./diagnostic.ts";
import type { FileInfo } from "./body-nodes.ts";
import { type Source, SourceRange } from "./source.ts";
import { T, type Tokens } from "./tokens.ts";

/** Default of how deep blocks, brackets, templates and operators may nest. */
export const DEFAULT_MAX_DEPTH = 512;

/** Thrown after a diagnostic was added, caught by the body parser, which goes on with the next item. */
export const FAILURE: unique symbol = Symbol("parse failure");

/** Thrown when there are too many diagnostics: nothing more is parsed. */
export const TOO_MANY: unique symbol = Symbol("too many diagnostics");

/** Bounds of one parse. */
export interface ParserLimits {
  readonly maxDepth: number;
  readonly maxDiagnostics: number;
}

/** Reading position, newline mode, depth and diagnostics that all parts of the parser share. */
export class ParserState {
  readonly source: Source;
  readonly file: FileInfo;
  readonly text: string;
  readonly kinds: Uint8Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly tokens: Tokens;
  readonly diagnostics: Diagnostic[] = [];
  readonly maxDepth: number;
  readonly maxDiagnostics: number;
  /** Parses one expression at the reading position; given from outside, since every part of the parser needs it. */
  readonly expression: () => Expression;
  /** Index of the next token. */
  at = 0;
  /** Inside brackets a newline is a blank. */
  skipNewlines = false;
  depth = 0;

  constructor(source: Source, tokens: Tokens, limits: ParserLimits, expression: (p: ParserState) => Expression) {
    this.source = source;
    this.file = { source, comments: tokens.comments };
    this.text = source.text;
    this.tokens = tokens;
    this.kinds = tokens.kinds;
    this.starts = tokens.starts;
    this.ends = tokens.ends;
    this.maxDepth = limits.maxDepth;
    this.maxDiagnostics = limits.maxDiagnostics;
    this.expression = () => expression(this);
  }

  /** Kind of the next token, which is not consumed. */
  peek(): number {
    if (this.skipNewlines) while (this.kinds[this.at] === T.Newline) this.at++;
    return this.kinds[this.at] as number;
  }

  /** Kind of the token behind the next one. */
  peekSecond(): number {
    this.peek();
    let i = this.at + 1;
    if (this.skipNewlines) while (this.kinds[i] === T.Newline) i++;
    return this.kinds[Math.min(i, this.tokens.count - 1)] as number;
  }

  /** Consumes the next token and gives its index. The end of the file is never passed. */
  next(): number {
    this.peek();
    const i = this.at;
    if (this.kinds[i] !== T.Eof) this.at++;
    return i;
  }

  start(token: number): number {
    return this.starts[token] as number;
  }

  end(token: number): number {
    return this.ends[token] as number;
  }

  tokenText(token: number): string {
    return this.text.slice(this.starts[token], this.ends[token]);
  }

  /** Range of one token. */
  range(token: number): SourceRange {
    return new SourceRange(this.source, this.starts[token] as number, this.ends[token] as number);
  }

  /** Range between offsets. */
  between(from: number, to: number): SourceRange {
    return new SourceRange(this.source, from, to);
  }

  /** Range from an offset to the end of the last consumed token. */
  since(from: number): SourceRange {
    return new SourceRange(this.source, from, Math.max(from, this.ends[this.at - 1] ?? from));
  }

  isWord(word: string): boolean {
    return this.peek() === T.Ident && this.tokenText(this.at) === word;
  }

  report(code: DiagnosticCode, summary: string, detail: string, subject: SourceRange, context?: SourceRange): void {
    if (this.diagnostics.length >= this.maxDiagnostics) {
      this.diagnostics.push({
        severity: "error",
        code: "too-many-errors",
        summary: "Too many errors",
        detail: `After ${this.maxDiagnostics} errors the rest of the text is not looked at.`,
        subject,
      });
      throw TOO_MANY;
    }
    this.diagnostics.push({ severity: "error", code, summary, detail, subject, ...(context ? { context } : {}) });
  }

  /** Reports and gives up the current item. */
  fail(code: DiagnosticCode, summary: string, detail: string, subject: SourceRange, context?: SourceRange): never {
    this.report(code, summary, detail, subject, context);
    throw FAILURE;
  }

  enter(): void {
    if (++this.depth > this.maxDepth) {
      this.fail(
        "too-deep",
        "Nesting too deep",
        `Blocks and expressions may nest ${this.maxDepth} levels deep.`,
        this.range(this.at),
      );
    }
  }

  /** What stands at the next token, for messages. */
  found(): string {
    const kind = this.peek();
    if (kind === T.Eof) return "the end of the text";
    if (kind === T.Newline) return "the end of the line";
    const text = this.tokenText(this.at);
    return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
  }
}

/** Offset where an expression starts. */
export const startOf = (e: Expression): number => (e.range as SourceRange).from;
/** Offset where an expression ends. */
export const endOf = (e: Expression): number => (e.range as SourceRange).to;
