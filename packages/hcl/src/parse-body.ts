import type { BlockLabel, Body } from "./ast.ts";
import { AttributeNode, BlockNode, BodyNode } from "./body-nodes.ts";
import { decodeEscapes } from "./escapes.ts";
import { FAILURE, type ParserState } from "./parser-state.ts";
import type { SourceRange } from "./source.ts";
import { T } from "./tokens.ts";

const MISSING_ITEM = "Argument or block expected";

/** Parses items up to the closing brace (not consumed) or the end of the text. */
export const parseBody = (p: ParserState, top: boolean): Body => {
  const body = new BodyNode(p.file, top ? 0 : p.end(p.at - 1));
  for (;;) {
    const kind = p.peek();
    if (kind === T.Newline) p.next();
    else if (kind === T.Eof || (kind === T.CloseBrace && !top)) break;
    else parseItemSafely(p, body, false);
  }
  return body.finish(p.start(p.at));
};

/** One item; after a failure the reading position is behind it. */
const parseItemSafely = (p: ParserState, body: BodyNode, singleLine: boolean): void => {
  const first = p.at;
  const depth = p.depth;
  try {
    parseItem(p, body, singleLine);
  } catch (failure) {
    if (failure !== FAILURE) throw failure;
    p.depth = depth;
    p.skipNewlines = false;
    skipItem(p, first);
  }
};

const closerOf = (kind: number): number => {
  if (kind === T.OpenBrace) return T.CloseBrace;
  if (kind === T.OpenBracket) return T.CloseBracket;
  if (kind === T.OpenParen) return T.CloseParen;
  if (kind === T.Interpolation || kind === T.Directive) return T.SequenceEnd;
  if (kind === T.OpenQuote) return T.CloseQuote;
  return kind === T.OpenHeredoc ? T.CloseHeredoc : -1;
};

/** Goes behind the item that began at `first` and failed at the current token: to its line end outside all brackets. */
const skipItem = (p: ParserState, first: number): void => {
  const failed = p.at;
  const open: number[] = [];
  for (let i = first; ; i++) {
    let kind = p.kinds[i] as number;
    if (kind === T.Eof) {
      p.at = i;
      return;
    }
    if (kind === T.QuotedNewline) {
      // The lexer ended the string here, and the line.
      const quote = open.lastIndexOf(T.CloseQuote);
      if (quote !== -1) open.length = quote;
      kind = T.Newline;
    }
    const closer = closerOf(kind);
    if (closer !== -1) open.push(closer);
    else if (kind === T.Newline) {
      if (open.length === 0 && i >= failed) {
        p.at = i + 1;
        return;
      }
    } else if (kind >= T.CloseQuote && kind <= T.CloseParen) {
      const match = open.lastIndexOf(kind);
      if (match !== -1) open.length = match;
      else if (kind === T.CloseBrace && i >= failed && i > first) {
        p.at = i;
        return;
      }
    }
  }
};

const parseItem = (p: ParserState, body: BodyNode, singleLine: boolean): void => {
  if (p.peek() !== T.Ident) {
    const bad = p.range(p.at);
    if (p.peek() === T.OpenQuote && !singleLine) {
      p.fail(
        "quoted-argument-name",
        "Quoted argument name",
        "The name of an argument or block stands without quotes.",
        bad,
      );
    }
    p.fail("missing-item", MISSING_ITEM, `An argument or a block must start here, not ${p.found()}.`, bad);
  }
  const name = p.next();
  const kind = p.peek();
  if (kind === T.Equal) parseAttribute(p, body, name, singleLine);
  else if (kind === T.OpenBrace || kind === T.OpenQuote || kind === T.Ident) {
    if (singleLine) {
      p.fail(
        "single-line-block",
        "Block in a single-line block",
        "A block on one line can hold one argument. Put a nested block on a line of its own.",
        p.between(p.start(name), p.end(p.at)),
      );
    }
    parseBlock(p, body, name);
  } else {
    p.fail(
      "missing-item",
      MISSING_ITEM,
      `Behind ${p.tokenText(name)} must come "=" and a value, or block labels and "{", not ${p.found()}.`,
      p.range(name),
    );
  }
};

const parseAttribute = (p: ParserState, body: BodyNode, name: number, singleLine: boolean): void => {
  const equals = p.next();
  const expression = p.expression();
  if (singleLine) {
    if (p.peek() !== T.CloseBrace) {
      const detail = p.peek() === T.Newline ? "must also end on that line" : "can hold one argument only";
      p.fail(
        "single-line-block",
        "Single-line block not closed",
        `A block that starts with an argument on its line ${detail}.`,
        p.range(p.at),
      );
    }
  } else if (p.peek() === T.Newline) p.next();
  else if (p.peek() !== T.Eof) {
    p.fail(
      "missing-newline",
      "Line end expected",
      `An argument ends with its line; found ${p.found()} behind it.`,
      p.range(p.at),
      p.between(p.start(name), (expression.range as SourceRange).to),
    );
  }
  const attribute = new AttributeNode(p.source, p.tokenText(name), p.start(name), p.start(equals), expression);
  const before = body.attribute(attribute.name);
  if (before === undefined) return body.add(attribute);
  p.report(
    "duplicate-argument",
    "Argument set twice",
    `${attribute.name} was set before, in line ${before.nameRange.start.line}.`,
    attribute.nameRange,
  );
};

const parseBlock = (p: ParserState, parent: BodyNode, type: number): void => {
  const labels: BlockLabel[] = [];
  while (p.peek() !== T.OpenBrace) {
    const kind = p.peek();
    if (kind === T.OpenQuote) labels.push(parseLabel(p));
    else if (kind === T.Ident) {
      const word = p.next();
      labels.push({ value: p.tokenText(word), range: p.range(word) });
    } else invalidHeader(p, type);
  }
  const definitionEnd = p.end(p.at - 1);
  const open = p.next();
  p.enter();
  const body = p.peek() === T.Newline ? parseBody(p, false) : parseOneLine(p);
  p.depth--;
  if (p.peek() === T.Eof) {
    p.report(
      "unclosed-block",
      "Block not closed",
      `The block ${p.tokenText(type)} has no closing brace. A brace may be missing further down.`,
      p.range(open),
    );
  }
  const close = p.peek() === T.CloseBrace ? p.next() : p.at;
  const at = { start: p.start(type), definitionEnd, open: p.start(open), close: p.start(close), end: p.end(close) };
  parent.blocks.push(new BlockNode(p.source, p.tokenText(type), labels, body, at));
  if (p.peek() === T.Newline) p.next();
  else if (p.peek() !== T.Eof) {
    p.fail(
      "missing-newline",
      "Line end expected",
      `A block ends with its line; found ${p.found()} behind it.`,
      p.range(p.at),
    );
  }
};

/** What follows `{` on its line: nothing, or one argument. */
const parseOneLine = (p: ParserState): Body => {
  const body = new BodyNode(p.file, p.end(p.at - 1));
  if (p.peek() !== T.CloseBrace && p.peek() !== T.Eof) {
    parseItemSafely(p, body, true);
    // Only after a failure: read the rest like a normal body, so that its braces pair up.
    while (p.peek() !== T.CloseBrace && p.peek() !== T.Eof) {
      if (p.peek() === T.Newline) p.next();
      else parseItemSafely(p, body, false);
    }
  }
  return body.finish(p.start(p.at));
};

const invalidHeader = (p: ParserState, type: number): never => {
  const name = p.tokenText(type);
  const bad = p.range(p.at);
  const kind = p.peek();
  if (kind === T.Equal)
    p.fail("invalid-block", "Invalid block", `A block has no "="; an argument such as ${name} has no labels.`, bad);
  if (kind === T.Newline)
    p.fail(
      "invalid-block",
      "Invalid block",
      `The "{" of the block ${name} must stand on the line of its name and labels.`,
      bad,
    );
  return p.fail("invalid-block", "Invalid block", `A quoted label or "{" must follow here, not ${p.found()}.`, bad);
};

const parseLabel = (p: ParserState): BlockLabel => {
  const open = p.next();
  let value = "";
  for (;;) {
    const kind = p.peek();
    const token = p.next();
    if (kind === T.CloseQuote) return { value, range: p.between(p.start(open), p.end(token)) };
    if (kind === T.QuotedText) value += decodeEscapes(p, p.start(token), p.end(token));
    else if (kind === T.Interpolation || kind === T.Directive) {
      p.fail(
        "invalid-block-label",
        "Template in a block label",
        "A label is plain text; write $${ or %%{ for the characters themselves.",
        p.range(token),
      );
    } else
      p.fail(
        "invalid-block-label",
        "Label not closed",
        "The closing quote of this label is missing before the end of the line.",
        p.range(token),
      );
  }
};
