import type { Expression } from "./expressions.ts";
import type { ParserState } from "./parser-state.ts";
import { T } from "./tokens.ts";

/** `name(…)` or `space::name(…)`. */
export const parseCall = (p: ParserState): Expression => {
  const first = p.next();
  let name = p.tokenText(first);
  let last = first;
  while (p.peek() === T.DoubleColon) {
    p.next();
    if (p.peek() !== T.Ident) {
      p.fail("unknown-function", "Function name expected", `A name must follow "::", not ${p.found()}.`, p.range(p.at));
    }
    last = p.next();
    name += `::${p.tokenText(last)}`;
  }
  if (p.peek() !== T.OpenParen) {
    p.fail(
      "unknown-function",
      "Function call expected",
      `"(" must follow the function's name, not ${p.found()}.`,
      p.range(p.at),
    );
  }
  const open = p.next();
  const newlines = p.skipNewlines;
  p.skipNewlines = true;
  const args: Expression[] = [];
  let expandFinal = false;
  while (p.peek() !== T.CloseParen) {
    args.push(p.expression());
    const kind = p.peek();
    if (kind === T.Comma) p.next();
    else if (kind === T.Ellipsis) {
      const ellipsis = p.next();
      expandFinal = true;
      if (p.peek() !== T.CloseParen) {
        p.fail("unclosed-call", "Call not closed", 'Behind "..." only ")" may follow.', p.range(ellipsis));
      }
    } else if (kind === T.Eof) {
      p.fail(
        "unclosed-call",
        "Call not closed",
        `The call of ${name} has no ")".`,
        p.between(p.start(first), p.end(open)),
      );
    } else if (kind !== T.CloseParen) {
      p.fail(
        "missing-separator",
        "Comma expected",
        `A comma or ")" must follow the argument, not ${p.found()}.`,
        p.range(p.at),
      );
    }
  }
  const close = p.next();
  p.skipNewlines = newlines;
  return {
    kind: "call",
    name,
    nameRange: p.between(p.start(first), p.end(last)),
    arguments: args,
    expandFinal,
    openParenRange: p.range(open),
    closeParenRange: p.range(close),
    range: p.between(p.start(first), p.end(close)),
  };
};
