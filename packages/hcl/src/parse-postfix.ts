import type { Expression, SplatExpression, SplatItemExpression, TraversalStep } from "./expressions.ts";
import type { HclNumber } from "./number.ts";
import { parseLiteralNumber } from "./parse-number.ts";
import { endOf, type ParserState, startOf } from "./parser-state.ts";
import { T } from "./tokens.ts";

/** The steps behind a term: attributes, indexes and splats. */
export const parsePostfix = (p: ParserState, term: Expression): Expression => {
  let e = term;
  for (let length = 1; ; length++) {
    const kind = p.peek();
    if (kind === T.Dot) e = parseDot(p, e);
    else if (kind === T.OpenBracket) e = parseBracket(p, e);
    else return e;
    // Each step may be one more level of the tree.
    if (p.depth + length > p.maxDepth && e.kind !== "traversal" && e.kind !== "relativeTraversal") {
      p.fail("too-deep", "Nesting too deep", `An expression may have ${p.maxDepth} levels.`, p.range(p.at));
    }
  }
};

type Steps = TraversalStep[];

/** Appends a static step; a traversal stays one node however long it is. */
const withStep = (p: ParserState, e: Expression, step: TraversalStep, end: number): Expression => {
  if (e.kind === "traversal" || e.kind === "relativeTraversal") {
    // Nodes under construction are ours alone, so their list can grow in place.
    if (e.steps.length === 0) (e as { steps: readonly TraversalStep[] }).steps = [step];
    else (e.steps as Steps).push(step);
    (e as { range: unknown }).range = p.between(startOf(e), end);
    return e;
  }
  return { kind: "relativeTraversal", source: e, steps: [step], range: p.between(startOf(e), end) };
};

const legacyIndex = (p: ParserState, dot: number): TraversalStep => {
  const text = p.tokenText(p.at);
  if (text.includes(".")) {
    p.fail(
      "invalid-index",
      "Invalid index",
      `.${text} is no index; write [${text.replaceAll(".", "][")}].`,
      p.range(p.at),
    );
  }
  const number = parseLiteralNumber(p);
  return { kind: "index", key: number.value as number, range: p.between(p.start(dot), endOf(number)) };
};

const parseDot = (p: ParserState, e: Expression): Expression => {
  const dot = p.next();
  const kind = p.peek();
  if (kind === T.Ident) {
    const name = p.next();
    return withStep(
      p,
      e,
      { kind: "attribute", name: p.tokenText(name), range: p.between(p.start(dot), p.end(name)) },
      p.end(name),
    );
  }
  if (kind === T.Number) {
    const step = legacyIndex(p, dot);
    return withStep(p, e, step, p.end(p.at - 1));
  }
  if (kind === T.Star) return attributeSplat(p, e, dot);
  return p.fail(
    "invalid-attribute-name",
    "Attribute name expected",
    `A name must follow the dot, not ${p.found()}.`,
    p.range(p.at),
  );
};

const attributeSplat = (p: ParserState, source: Expression, dot: number): Expression => {
  const star = p.next();
  const item: SplatItemExpression = { kind: "splatItem", range: p.between(p.start(dot), p.end(star)) };
  let each: Expression = item;
  while (p.peek() === T.Dot) {
    const inner = p.next();
    const kind = p.peek();
    if (kind === T.Ident) {
      const name = p.next();
      each = withStep(
        p,
        each,
        { kind: "attribute", name: p.tokenText(name), range: p.between(p.start(inner), p.end(name)) },
        p.end(name),
      );
    } else if (kind === T.Number) each = withStep(p, each, legacyIndex(p, inner), p.end(p.at - 1));
    else if (kind === T.Star)
      p.fail("invalid-splat", "Splat in a splat", 'A ".*" cannot stand in another ".*"; use "[*]".', p.range(p.at));
    else
      p.fail(
        "invalid-attribute-name",
        "Attribute name expected",
        `A name must follow the dot, not ${p.found()}.`,
        p.range(p.at),
      );
  }
  return splat("attribute", source, each, item, p);
};

const splat = (
  form: SplatExpression["form"],
  source: Expression,
  each: Expression,
  item: SplatItemExpression,
  p: ParserState,
): Expression => ({
  kind: "splat",
  form,
  source,
  each,
  item,
  markerRange: item.range,
  range: p.between(startOf(source), endOf(each)),
});

const parseBracket = (p: ParserState, e: Expression): Expression => {
  const open = p.next();
  const newlines = p.skipNewlines;
  p.skipNewlines = true;
  if (p.peek() === T.Star) {
    p.next();
    if (p.peek() !== T.CloseBracket) {
      p.fail(
        "unclosed-index",
        "Bracket not closed",
        `"]" must follow the star, not ${p.found()}.`,
        p.range(p.at),
        p.range(open),
      );
    }
    const close = p.next();
    p.skipNewlines = newlines;
    const item: SplatItemExpression = { kind: "splatItem", range: p.between(p.start(open), p.end(close)) };
    p.enter();
    const each = parsePostfix(p, item);
    p.depth--;
    return splat("full", e, each, item, p);
  }
  const key = p.expression();
  if (p.peek() !== T.CloseBracket) {
    p.fail(
      "unclosed-index",
      "Bracket not closed",
      `"]" must end the index, not ${p.found()}.`,
      p.range(p.at),
      p.range(open),
    );
  }
  const close = p.next();
  p.skipNewlines = newlines;
  const constant = staticKey(key);
  const range = p.between(p.start(open), p.end(close));
  if (constant !== undefined) return withStep(p, e, { kind: "index", key: constant, range }, p.end(close));
  return { kind: "index", collection: e, key, openRange: p.range(open), range: p.between(startOf(e), p.end(close)) };
};

const staticKey = (key: Expression): string | number | HclNumber | undefined => {
  const literal = key.kind === "template" && key.parts.length === 1 ? key.parts[0] : key;
  if (literal?.kind !== "literal" || literal.value === null || typeof literal.value === "boolean") return undefined;
  return literal.value;
};
