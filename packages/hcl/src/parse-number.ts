import type { LiteralExpression } from "./expressions.ts";
import { parseNumber } from "./number.ts";
import type { ParserState } from "./parser-state.ts";

/** The number literal at the reading position. */
export const parseLiteralNumber = (p: ParserState): LiteralExpression => {
  const token = p.next();
  const range = p.range(token);
  const value = parseNumber(range.text);
  if (value === undefined) {
    p.fail("invalid-number", "Invalid number", `${range.text.slice(0, 40)} is no number, or too large.`, range);
  }
  return { kind: "literal", value, range };
};
