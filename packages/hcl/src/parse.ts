import type { Body, ParseResult } from "./ast.ts";
import type { Expression } from "./expressions.ts";
import { BodyNode } from "./body-nodes.ts";
import { decodeSource } from "./decode.ts";
import type { Diagnostic } from "./diagnostic.ts";
import { Lexer } from "./lexer.ts";
import { parseBody } from "./parse-body.ts";
import { parseExpressionHere } from "./parse-expression.ts";
import { parseBareTemplate } from "./parse-template.ts";
import { DEFAULT_MAX_DEPTH, FAILURE, ParserState, TOO_MANY } from "./parser-state.ts";
import { reportScanErrors } from "./scan-errors.ts";
import { Source, SourceRange } from "./source.ts";
import { T } from "./tokens.ts";

/** Default of the largest text taken, in bytes of UTF-8 (UTF-16 units of a string). */
export const DEFAULT_MAX_BYTES: number = 16 * 1024 * 1024;

/** Default of how many diagnostics a parse gives. */
export const DEFAULT_MAX_DIAGNOSTICS = 1_000;

/**
 * Options of the parsing functions.
 * @public
 */
export interface ParseOptions {
  /** Name in the ranges. Default: empty. */
  readonly filename?: string;
  /** How deep blocks, brackets, templates and operators may nest. Default 512. */
  readonly maxDepth?: number;
  /** Largest text taken. Default 16 MiB. */
  readonly maxBytes?: number;
  /** After this many errors parsing stops with one more that says so. Default 1,000. */
  readonly maxDiagnostics?: number;
}

/**
 * What {@link parseExpression} and {@link parseTemplate} give: no expression when it has errors.
 * @public
 */
export interface ParseExpressionResult {
  readonly expression: Expression | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

const prepare = (input: string | Uint8Array, o: ParseOptions, template: boolean): ParserState => {
  const limit = o.maxBytes ?? DEFAULT_MAX_BYTES;
  const filename = o.filename ?? "";
  const limits = {
    maxDepth: o.maxDepth ?? DEFAULT_MAX_DEPTH,
    maxDiagnostics: o.maxDiagnostics ?? DEFAULT_MAX_DIAGNOSTICS,
  };
  if (input.length > limit) {
    const source = new Source("", filename);
    const p = new ParserState(source, new Lexer(source).run(), limits, parseExpressionHere);
    p.report(
      "too-large",
      "Text too large",
      `The text has ${input.length} bytes; ${limit} are taken.`,
      new SourceRange(source, 0, 0),
    );
    return p;
  }
  const source = decodeSource(input, filename);
  return new ParserState(source, new Lexer(source).run(template), limits, parseExpressionHere);
};

/** Turns a stack overflow (a `maxDepth` above what the stack holds) into the diagnostic of the depth limit. */
const guarded = <R>(p: ParserState, work: () => R): R | undefined => {
  try {
    reportScanErrors(p);
    return work();
  } catch (error) {
    if (error === FAILURE || error === TOO_MANY) return undefined;
    if (!(error instanceof RangeError)) throw error;
    p.report("too-deep", "Nesting too deep", "The nesting is deeper than the stack allows.", p.range(p.at));
    return undefined;
  }
};

/**
 * Parses a whole file. Never throws on bad input: each item with an error gives a diagnostic and is left out, and parsing goes on behind it.
 * @param input Text, or bytes of UTF-8; a byte order mark is ignored, line ends may be LF or CRLF.
 * @public
 */
export const parse = (input: string | Uint8Array, o: ParseOptions = {}): ParseResult => {
  const p = prepare(input, o, false);
  const body: Body | undefined = guarded(p, () => parseBody(p, true));
  // Given up in the middle: an empty body goes with the diagnostics.
  return { body: body ?? new BodyNode(p.file, 0), diagnostics: p.diagnostics };
};

/**
 * Parses one expression, such as `1 + var.x`; line ends around it are ignored.
 * @public
 */
export const parseExpression = (input: string | Uint8Array, o: ParseOptions = {}): ParseExpressionResult => {
  const p = prepare(input, o, false);
  const expression = guarded(p, () => {
    p.skipNewlines = true;
    const e = p.expression();
    if (p.peek() !== T.Eof)
      p.fail("extra-characters", "Extra characters", `The expression ends before ${p.found()}.`, p.range(p.at));
    return e;
  });
  return { expression: p.diagnostics.length > 0 ? undefined : expression, diagnostics: p.diagnostics };
};

/**
 * Parses a text as the inside of a template, such as `a ${b} c`: no quotes, no backslash escapes.
 * @public
 */
export const parseTemplate = (input: string | Uint8Array, o: ParseOptions = {}): ParseExpressionResult => {
  const p = prepare(input, o, true);
  const expression = guarded(p, () => parseBareTemplate(p));
  return { expression: p.diagnostics.length > 0 ? undefined : expression, diagnostics: p.diagnostics };
};
