import type { Expression, TraversalExpression } from "./expressions.ts";
import type { Range } from "./diagnostic.ts";
import { SourceRange, sourceText, spanning } from "./source.ts";

const firstUnits = (range: Range, length: number): Range =>
  range instanceof SourceRange
    ? new SourceRange(range.source, range.from, Math.min(range.to, range.from + length))
    : range;

/**
 * Where a remark on the value of an expression points at: its first token, for a string the text in it.
 * @public
 */
export const startRange = (e: Expression): Range => {
  switch (e.kind) {
    case "template":
      return e.parts[0] === undefined ? e.range : startRange(e.parts[0]);
    case "templateWrap":
      return startRange(e.wrapped);
    case "conditional":
      return startRange(e.condition);
    case "binary":
      return startRange(e.left);
    case "unary":
      return e.operatorRange;
    case "call":
      return spanning(e.nameRange, e.openParenRange);
    case "relativeTraversal":
    case "splat":
      return startRange(e.source);
    case "index":
      return startRange(e.collection);
    case "for":
    case "tuple":
    case "object":
      return firstUnits(e.range, 1);
    case "objectKey":
      return startRange(e.wrapped);
    case "parens":
      return startRange(e.inner);
    default:
      return e.range;
  }
};

/**
 * The source text of a traversal, such as `attr.kernel.name`.
 * @public
 */
export const traversalText = (t: TraversalExpression): string => {
  const text = sourceText(t.range);
  if (text !== "") return text;
  return (
    t.root +
    t.steps
      .map((s) =>
        s.kind === "attribute"
          ? `.${s.name}`
          : `[${typeof s.key === "string" ? JSON.stringify(s.key) : String(s.key)}]`,
      )
      .join("")
  );
};

/**
 * The text of a string without sequences, or undefined for any other expression.
 * @public
 */
export const staticString = (e: Expression): string | undefined => {
  if (e.kind !== "template") return undefined;
  let text = "";
  // Lines of a heredoc are parts of their own.
  for (const part of e.parts) {
    if (part.kind !== "literal" || typeof part.value !== "string") return undefined;
    text += part.value;
  }
  return text;
};

/**
 * The word of an expression that is one bare word (also `true`, `false` and `null`), or undefined.
 * @public
 */
export const keyword = (e: Expression): string | undefined => {
  if (e.kind === "traversal") return e.steps.length === 0 ? e.root : undefined;
  if (e.kind !== "literal") return undefined;
  return e.value === null || typeof e.value === "boolean" ? String(e.value) : undefined;
};
