import type { Expression, TemplateExpression } from "./expressions.ts";
import { decodeEscapes, unescapeMarkers } from "./escapes.ts";
import type { ParserState } from "./parser-state.ts";
import { dedent, type Part, type Sequence, strip } from "./template-parts.ts";
import { T } from "./tokens.ts";
import { buildTemplate } from "./template-tree.ts";

/** `"…"` at the reading position. */
export const parseQuoted = (p: ParserState): Expression => {
  const open = p.next();
  const simple = plainText(p, open);
  if (simple !== undefined) return simple;
  const { parts, close } = parseParts(p, T.CloseQuote);
  const range = p.between(p.start(open), p.end(close));
  const only = parts[0];
  if (parts.length === 1 && only?.kind === "value") return { kind: "templateWrap", wrapped: only.expression, range };
  strip(parts);
  return { ...buildTemplate(p, parts, p.range(close), "quoted"), range };
};

/** A string without sequences, by far the most frequent one. */
const plainText = (p: ParserState, open: number): Expression | undefined => {
  const second = p.kinds[open + 1];
  const empty = second === T.CloseQuote;
  if (!empty && (second !== T.QuotedText || p.kinds[open + 2] !== T.CloseQuote)) return undefined;
  const from = p.start(open + 1);
  const to = empty ? from : p.end(open + 1);
  p.at = open + (empty ? 2 : 3);
  return {
    kind: "template",
    form: "quoted",
    parts: [{ kind: "literal", value: empty ? "" : decodeEscapes(p, from, to), range: p.between(from, to) }],
    range: p.between(p.start(open), p.end(p.at - 1)),
  };
};

/** `<<MARKER` or `<<-MARKER` at the reading position. */
export const parseHeredoc = (p: ParserState): Expression => {
  const open = p.next();
  const flush = p.text[p.start(open) + 2] === "-";
  const { parts, close } = parseParts(p, T.CloseHeredoc);
  strip(parts);
  if (flush) dedent(parts);
  return {
    ...buildTemplate(p, parts, p.range(close), flush ? "flush-heredoc" : "heredoc"),
    range: p.between(p.start(open), p.end(close)),
  };
};

/** A whole text as a template without quotes. */
export const parseBareTemplate = (p: ParserState): TemplateExpression => {
  const { parts, close } = parseParts(p, T.Eof);
  strip(parts);
  return buildTemplate(p, parts, p.range(close), "directive");
};

const parseParts = (p: ParserState, closer: number): { parts: Part[]; close: number } => {
  const parts: Part[] = [];
  const newlines = p.skipNewlines;
  for (;;) {
    p.skipNewlines = false;
    const kind = p.peek();
    const token = p.next();
    if (kind === closer) {
      p.skipNewlines = newlines;
      return { parts, close: token };
    }
    const from = p.start(token);
    const to = p.end(token);
    if (kind === T.QuotedText) parts.push({ kind: "text", text: decodeEscapes(p, from, to), from, to });
    else if (kind === T.HeredocText)
      parts.push({ kind: "text", text: unescapeMarkers(p.text.slice(from, to)), from, to });
    else if (kind === T.Interpolation) parts.push(parseInterpolation(p, token));
    else if (kind === T.Directive) parts.push(parseDirective(p, token));
    else {
      p.at = token;
      p.fail(
        "unterminated-template",
        "Text not closed",
        "The end of this string or heredoc is missing.",
        p.range(token),
      );
    }
  }
};

const sequenceOf = (p: ParserState, open: number, close: number): Sequence => ({
  from: p.start(open),
  to: p.end(close),
  stripBefore: p.end(open) - p.start(open) === 3,
  stripAfter: p.end(close) - p.start(close) === 2,
});

const parseInterpolation = (p: ParserState, open: number): Part => {
  p.skipNewlines = true;
  const expression = p.expression();
  const close = endSequence(p, open, "the interpolation");
  return { kind: "value", expression, ...sequenceOf(p, open, close) };
};

const endSequence = (p: ParserState, open: number, what: string): number => {
  const kind = p.peek();
  if (kind === T.SequenceEnd) return p.next();
  if (kind === T.Eof || kind === T.OpenQuote) {
    p.fail("invalid-interpolation", "Sequence not closed", `The "}" of ${what} is missing.`, p.range(open));
  }
  return p.fail(
    "extra-characters",
    "Extra characters",
    `"}" must end ${what} here, not ${p.found()}. Write $\${ or %%{ for the characters themselves.`,
    p.range(p.at),
    p.range(open),
  );
};

const parseDirective = (p: ParserState, open: number): Part => {
  p.skipNewlines = true;
  if (p.peek() !== T.Ident) {
    p.fail(
      "invalid-directive",
      "Invalid directive",
      `"if", "for", "else", "endif" or "endfor" must follow "%{", not ${p.found()}.`,
      p.range(p.at),
      p.range(open),
    );
  }
  const keyword = p.next();
  const word = p.tokenText(keyword);
  if (word === "if") {
    const condition = p.expression();
    return { kind: "if", condition, ...sequenceOf(p, open, endSequence(p, open, "the directive")) };
  }
  if (word === "for") return parseForDirective(p, open);
  if (word === "else" || word === "endif" || word === "endfor") {
    return { kind: word, ...sequenceOf(p, open, endSequence(p, open, "the directive")) };
  }
  return p.fail(
    "invalid-directive",
    "Invalid directive",
    `There is no directive ${JSON.stringify(word)}; there are if, for, else, endif and endfor.`,
    p.range(keyword),
    p.range(open),
  );
};

const parseForDirective = (p: ParserState, open: number): Part => {
  const name = (): string => {
    if (p.peek() !== T.Ident)
      p.fail(
        "invalid-directive",
        "Invalid for directive",
        `A variable's name must stand here, not ${p.found()}.`,
        p.range(p.at),
        p.range(open),
      );
    return p.tokenText(p.next());
  };
  let keyName: string | undefined;
  let valueName = name();
  if (p.peek() === T.Comma) {
    p.next();
    keyName = valueName;
    valueName = name();
  }
  if (!p.isWord("in"))
    p.fail(
      "invalid-directive",
      "Invalid for directive",
      `"in" must follow the names, not ${p.found()}.`,
      p.range(p.at),
      p.range(open),
    );
  p.next();
  const collection = p.expression();
  return { kind: "for", keyName, valueName, collection, ...sequenceOf(p, open, endSequence(p, open, "the directive")) };
};
