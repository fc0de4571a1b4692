import type { BinaryOperator, Expression, TraversalStep } from "./expressions.ts";
import { parseCall } from "./parse-call.ts";
import { parseObject, parseTuple } from "./parse-collection.ts";
import { parseLiteralNumber } from "./parse-number.ts";
import { parsePostfix } from "./parse-postfix.ts";
import { parseHeredoc, parseQuoted } from "./parse-template.ts";
import { endOf, type ParserState, startOf } from "./parser-state.ts";
import { T } from "./tokens.ts";

const LEVEL: Record<number, number> = {
  [T.Or]: 1,
  [T.And]: 2,
  [T.EqualEqual]: 3,
  [T.NotEqual]: 3,
  [T.Less]: 4,
  [T.LessEqual]: 4,
  [T.Greater]: 4,
  [T.GreaterEqual]: 4,
  [T.Plus]: 5,
  [T.Minus]: 5,
  [T.Star]: 6,
  [T.Slash]: 6,
  [T.Percent]: 6,
};

/** Shared by all traversals that are a bare name. */
const NO_STEPS: readonly TraversalStep[] = [];

const LEVELS = new Uint8Array(64);
for (const [kind, level] of Object.entries(LEVEL)) LEVELS[Number(kind)] = level;

/** Parses one expression at the reading position. */
export const parseExpressionHere = (p: ParserState): Expression => {
  p.enter();
  const condition = parseBinary(p, 1);
  let result = condition;
  if (p.peek() === T.Question) {
    p.next();
    const ifTrue = parseExpressionHere(p);
    if (p.peek() !== T.Colon) {
      p.fail(
        "missing-else",
        "Conditional without else",
        `":" and the value for false must follow here, not ${p.found()}.`,
        p.range(p.at),
        p.between(startOf(condition), endOf(ifTrue)),
      );
    }
    p.next();
    const ifFalse = parseExpressionHere(p);
    result = { kind: "conditional", condition, ifTrue, ifFalse, range: p.between(startOf(condition), endOf(ifFalse)) };
  }
  p.depth--;
  return result;
};

const parseBinary = (p: ParserState, level: number): Expression => {
  let left = parseUnary(p);
  for (;;) {
    const found = LEVELS[p.peek()] as number;
    if (found === 0 || found < level) return left;
    const operator = p.tokenText(p.next()) as BinaryOperator;
    const right = parseBinary(p, found + 1);
    left = { kind: "binary", operator, left, right, range: p.between(startOf(left), endOf(right)) };
  }
};

const parseUnary = (p: ParserState): Expression => {
  const kind = p.peek();
  if (kind !== T.Minus && kind !== T.Bang) return parsePostfix(p, parseTerm(p));
  p.enter();
  const token = p.next();
  const operand = parseUnary(p);
  p.depth--;
  return {
    kind: "unary",
    operator: kind === T.Minus ? "-" : "!",
    operand,
    operatorRange: p.range(token),
    range: p.between(p.start(token), endOf(operand)),
  };
};

const parseTerm = (p: ParserState): Expression => {
  switch (p.peek()) {
    case T.Ident:
      return parseName(p);
    case T.Number:
      return parseLiteralNumber(p);
    case T.OpenQuote:
      return parseQuoted(p);
    case T.OpenHeredoc:
      return parseHeredoc(p);
    case T.OpenBracket:
      return parseTuple(p);
    case T.OpenBrace:
      return parseObject(p);
    case T.OpenParen:
      return parseParens(p);
    case T.Eof:
      return p.fail(
        "missing-expression",
        "Expression missing",
        "An expression must follow, but the text ends.",
        p.range(p.at),
      );
    default:
      return p.fail(
        "invalid-expression",
        "Invalid expression",
        `An expression must start here, not ${p.found()}.`,
        p.range(p.at),
      );
  }
};

const parseName = (p: ParserState): Expression => {
  const second = p.peekSecond();
  if (second === T.OpenParen || second === T.DoubleColon) return parseCall(p);
  const token = p.next();
  const range = p.range(token);
  const root = p.tokenText(token);
  if (root === "true" || root === "false") return { kind: "literal", value: root === "true", range };
  if (root === "null") return { kind: "literal", value: null, range };
  return { kind: "traversal", root, rootRange: range, steps: NO_STEPS, range };
};

const parseParens = (p: ParserState): Expression => {
  const open = p.next();
  const newlines = p.skipNewlines;
  p.skipNewlines = true;
  const inner = parseExpressionHere(p);
  if (p.peek() !== T.CloseParen) {
    p.fail(
      "unclosed-parens",
      "Parenthesis not closed",
      `")" must follow here, not ${p.found()}.`,
      p.range(p.at),
      p.range(open),
    );
  }
  const close = p.next();
  p.skipNewlines = newlines;
  return { kind: "parens", inner, range: p.between(p.start(open), p.end(close)) };
};
