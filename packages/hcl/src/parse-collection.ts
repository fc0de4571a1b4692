import type { Expression, ObjectItem } from "./expressions.ts";
import { endOf, type ParserState, startOf } from "./parser-state.ts";
import { T } from "./tokens.ts";

/** `[…]`, a tuple or a for expression. */
export const parseTuple = (p: ParserState): Expression => {
  const open = p.next();
  const newlines = p.skipNewlines;
  p.skipNewlines = true;
  if (p.isWord("for")) return parseFor(p, open, newlines);
  const items: Expression[] = [];
  while (p.peek() !== T.CloseBracket) {
    items.push(p.expression());
    const kind = p.peek();
    if (kind === T.Comma) p.next();
    else if (kind === T.Eof)
      p.fail("unclosed-tuple", "Bracket not closed", 'The list that starts here has no "]".', p.range(open));
    else if (kind !== T.CloseBracket) {
      p.fail(
        "missing-separator",
        "Comma expected",
        `A comma or "]" must follow the item, not ${p.found()}.`,
        p.range(p.at),
        p.range(open),
      );
    }
  }
  const close = p.next();
  p.skipNewlines = newlines;
  return { kind: "tuple", items, range: p.between(p.start(open), p.end(close)) };
};

/** `{…}`, an object or a for expression. */
export const parseObject = (p: ParserState): Expression => {
  const open = p.next();
  const newlines = p.skipNewlines;
  p.skipNewlines = true;
  if (p.isWord("for")) return parseFor(p, open, newlines);
  p.skipNewlines = false;
  const items: ObjectItem[] = [];
  for (;;) {
    while (p.peek() === T.Newline) p.next();
    if (p.peek() === T.CloseBrace) break;
    const written = p.expression();
    const key: Expression = { kind: "objectKey", wrapped: written, range: written.range };
    keySeparator(p, open);
    items.push({ key, value: p.expression() });
    const kind = p.peek();
    if (kind === T.Comma || kind === T.Newline) p.next();
    else if (kind === T.Eof)
      p.fail("unclosed-object", "Brace not closed", 'The object that starts here has no "}".', p.range(open));
    else if (kind !== T.CloseBrace) {
      p.fail(
        "missing-separator",
        "Separator expected",
        `A line end, a comma or "}" must follow the value, not ${p.found()}.`,
        p.range(p.at),
        p.range(open),
      );
    }
  }
  const close = p.next();
  p.skipNewlines = newlines;
  return { kind: "object", items, range: p.between(p.start(open), p.end(close)) };
};

const keySeparator = (p: ParserState, open: number): void => {
  const kind = p.peek();
  if (kind === T.Equal || kind === T.Colon) {
    p.next();
    return;
  }
  if (kind === T.Eof)
    p.fail("unclosed-object", "Brace not closed", 'The object that starts here has no "}".', p.range(open));
  if (kind === T.Newline || kind === T.Comma) {
    p.fail(
      "missing-object-value",
      "Value missing",
      '"=" and a value must follow the key.',
      p.range(p.at),
      p.range(open),
    );
  }
  p.fail(
    "missing-separator",
    "Equals sign expected",
    `"=" must follow the key, not ${p.found()}. A key with dots or blanks stands in quotes.`,
    p.range(p.at),
    p.range(open),
  );
};

const wrong = (p: ParserState, detail: string, at: number, open: number): never =>
  p.fail("invalid-for", "Invalid for expression", detail, p.range(at), p.range(open));

/** Behind `[` or `{`, at the word `for`. */
const parseFor = (p: ParserState, open: number, newlines: boolean): Expression => {
  const object = p.kinds[open] === T.OpenBrace;
  p.next();
  let keyName: string | undefined;
  if (p.peek() !== T.Ident) wrong(p, `A variable's name must follow "for", not ${p.found()}.`, p.at, open);
  let valueName = p.tokenText(p.next());
  if (p.peek() === T.Comma) {
    p.next();
    if (p.peek() !== T.Ident) wrong(p, `A second variable's name must follow the comma, not ${p.found()}.`, p.at, open);
    keyName = valueName;
    valueName = p.tokenText(p.next());
  }
  if (!p.isWord("in")) wrong(p, `"in" must follow the names, not ${p.found()}.`, p.at, open);
  p.next();
  const collection = p.expression();
  if (p.peek() !== T.Colon) wrong(p, `":" must follow the collection, not ${p.found()}.`, p.at, open);
  p.next();
  const first = p.expression();
  let key: Expression | undefined;
  let value = first;
  if (p.peek() === T.FatArrow) {
    if (!object)
      p.fail(
        "invalid-for",
        "Invalid for expression",
        'A list has no keys: "=>" belongs in braces.',
        p.between(startOf(first), endOf(first)),
        p.range(open),
      );
    p.next();
    key = first;
    value = p.expression();
  } else if (object) {
    p.fail(
      "invalid-for",
      "Invalid for expression",
      'An object needs "key => value".',
      p.between(startOf(first), endOf(first)),
      p.range(open),
    );
  }
  let grouping = false;
  if (p.peek() === T.Ellipsis) {
    if (!object) wrong(p, 'Only an object is grouped by "...".', p.at, open);
    p.next();
    grouping = true;
  }
  let condition: Expression | undefined;
  if (p.isWord("if")) {
    p.next();
    condition = p.expression();
  }
  if (p.peek() !== (object ? T.CloseBrace : T.CloseBracket)) {
    wrong(p, `"${object ? "}" : "]"}" must end the expression, not ${p.found()}.`, p.at, open);
  }
  const close = p.next();
  p.skipNewlines = newlines;
  return {
    kind: "for",
    keyName,
    valueName,
    collection,
    key,
    value,
    condition,
    grouping,
    range: p.between(p.start(open), p.end(close)),
  };
};
