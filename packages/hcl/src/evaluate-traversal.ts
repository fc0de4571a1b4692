import type { TraversalExpression, TraversalStep } from "./expressions.ts";
import { isList, isMap, isNumber } from "./compare.ts";
import { toText, typeName } from "./convert.ts";
import type { Range } from "./diagnostic.ts";
import type { EvalState } from "./eval-state.ts";
import { parseNumber } from "./number.ts";
import { traversalText } from "./ranges.ts";
import { findVariable, type Scope } from "./scope.ts";
import type { Value } from "./value.ts";

/** A variable with its steps; an unknown root becomes what the context says. */
export const evaluateTraversal = (s: EvalState, e: TraversalExpression, scope: Scope): Value => {
  let value = findVariable(e.root, scope, s.context);
  if (value === undefined) {
    const rule = s.unknownTraversal;
    if (rule === "keep-text") return `\${${traversalText(e)}}`;
    const answer = rule === "error" ? undefined : rule(e, traversalText(e));
    if (answer !== undefined) return answer;
    return s.fail(
      "unknown-variable",
      "Unknown variable",
      `There is no variable named ${JSON.stringify(e.root)}.`,
      e.rootRange,
      e.range,
    );
  }
  for (const x of e.steps) value = step(s, value, x);
  return value;
};

/** One static step into a value. */
export const step = (s: EvalState, value: Value, x: TraversalStep): Value => {
  if (x.kind === "index") return indexValue(s, value, x.key, x.range);
  if (value !== null && isMap(value)) {
    const found = value.get(x.name);
    if (found !== undefined) return found;
    return s.fail(
      "unknown-attribute",
      "Unknown attribute",
      `This object has no attribute ${JSON.stringify(x.name)}.`,
      x.range,
    );
  }
  return s.fail(
    "unknown-attribute",
    "Unknown attribute",
    `${describe(value)} has no attributes, so no ${JSON.stringify(x.name)}.`,
    x.range,
  );
};

const describe = (value: Value): string => (value === null ? "Null" : `A ${typeName(value)}`);

/** `value[key]`. */
export const indexValue = (s: EvalState, value: Value, key: Value, range: Range): Value => {
  if (key === null) return s.fail("invalid-index", "Invalid index", "The index is null.", range);
  if (isList(value)) {
    const index = isNumber(key) ? key : typeof key === "string" ? parseNumber(key) : undefined;
    if (typeof index !== "number" || !Number.isInteger(index)) {
      return s.fail("invalid-index", "Invalid index", "The index of a list is a whole number.", range);
    }
    const found = value[index];
    if (index >= 0 && found !== undefined) return found;
    return s.fail("invalid-index", "Invalid index", `There is no item ${index}; the list has ${value.length}.`, range);
  }
  if (value === null || !isMap(value)) {
    return s.fail("invalid-index", "Invalid index", `${describe(value)} has no items.`, range);
  }
  const name = toText(key);
  const found = name === undefined ? undefined : value.get(name);
  if (found !== undefined) return found;
  return s.fail(
    "invalid-index",
    "Invalid index",
    name === undefined ? "The key of a map is a string." : `There is no item with the key ${JSON.stringify(name)}.`,
    range,
  );
};
