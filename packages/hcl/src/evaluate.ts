import type {
  Expression,
  ForExpression,
  ObjectExpression,
  SplatExpression,
  TemplateExpression,
  TemplateForExpression,
} from "./ast.ts";
import { arithmetic, negate, ordered } from "./arithmetic.ts";
import { isList, isMap, sortedEntries, valuesEqual } from "./compare.ts";
import { convertValue, toText, typeName } from "./convert.ts";
import { callFunction } from "./evaluate-call.ts";
import { evaluateTraversal, indexValue, step } from "./evaluate-traversal.ts";
import { EvalState, type Evaluator, FAILED, STOPPED } from "./eval-state.ts";
import type { EvalContext, EvalResult } from "./eval-types.ts";
import type { HclNumber } from "./number.ts";
import { keyword, startRange } from "./ranges.ts";
import { findItem, type Scope } from "./scope.ts";
import { spanning } from "./source.ts";
import { BOOL, type HclType, NUMBER } from "./types.ts";
import { unifyTypes, valueType } from "./unify.ts";
import type { Value } from "./value.ts";

/**
 * Evaluates an expression. Errors are diagnostics, never exceptions; independent parts of a list, object, template or call
 * each report theirs.
 * @public
 */
export const evaluate = (expression: Expression, context: EvalContext): EvalResult =>
  new EvalState(context, expression.range, evaluateIn).run(expression, undefined);

/** Throws FAILED after reporting. */
const evaluateIn: Evaluator = (s, e, scope) => {
  s.current = e.range;
  s.charge(1);
  if (++s.budget.depth > s.budget.maxDepth) s.stop("its parts are nested too deep");
  const depth = s.budget.depth;
  try {
    return evaluateKind(s, e, scope);
  } finally {
    s.budget.depth = depth - 1;
  }
};

const evaluateKind = (s: EvalState, e: Expression, scope: Scope): Value => {
  switch (e.kind) {
    case "literal":
      return e.value;
    case "template":
      return template(s, e, scope);
    case "templateWrap":
      return evaluateIn(s, e.wrapped, scope);
    case "templateIf":
      return condition(s, e.condition, scope)
        ? template(s, e.ifTrue, scope)
        : e.ifFalse
          ? template(s, e.ifFalse, scope)
          : "";
    case "templateFor":
      return templateFor(s, e, scope);
    case "conditional":
      return conditional(s, e, scope);
    case "binary":
      return binary(s, e, scope);
    case "unary":
      return e.operator === "!"
        ? !(operand(s, e.operand, scope, BOOL) as boolean)
        : negate(operand(s, e.operand, scope, NUMBER) as number | HclNumber);
    case "call":
      return callFunction(s, e, scope);
    case "traversal":
      return evaluateTraversal(s, e, scope);
    case "relativeTraversal":
      return e.steps.reduce<Value>((value, x) => step(s, value, x), evaluateIn(s, e.source, scope));
    case "index": {
      const [collection, key] = collect(s, [e.collection, e.key], scope) as [Value, Value];
      return indexValue(s, collection, key, spanning(e.openRange, e.range));
    }
    case "splat":
      return splat(s, e, scope);
    case "splatItem":
      return findItem(e, scope);
    case "for":
      return forExpression(s, e, scope);
    case "tuple":
      s.charge(0, e.items.length);
      return collect(s, e.items, scope);
    case "object":
      return object(s, e, scope);
    case "objectKey":
      return objectKey(s, e.wrapped, scope);
    case "parens":
      return evaluateIn(s, e.inner, scope);
  }
};

/** Evaluates all, so that each reports its errors, and then fails if one did. */
const collect = (s: EvalState, expressions: readonly Expression[], scope: Scope): Value[] => {
  const values: Value[] = [];
  let failed = false;
  for (const e of expressions) {
    try {
      values.push(evaluateIn(s, e, scope));
    } catch (error) {
      if (error !== FAILED) throw error;
      failed = true;
    }
  }
  if (failed) throw FAILED;
  return values;
};

const operand = (s: EvalState, e: Expression, scope: Scope, type: HclType): Value =>
  asOperand(s, evaluateIn(s, e, scope), e, type);

const asOperand = (s: EvalState, value: Value, e: Expression, type: HclType): Value => {
  if (value === null)
    return s.fail("invalid-operand", "Invalid operand", `The operand is null; a ${type.kind} is required.`, e.range);
  const converted = convertValue(value, type);
  return converted.ok
    ? converted.value
    : s.fail("invalid-operand", "Invalid operand", `Unsuitable value for the operand: ${converted.message}.`, e.range);
};

/** A value that decides something. */
const condition = (s: EvalState, e: Expression, scope: Scope): boolean => {
  const value = evaluateIn(s, e, scope);
  const converted = value === null ? undefined : convertValue(value, BOOL);
  if (converted?.ok) return converted.value as boolean;
  return s.fail(
    "invalid-condition",
    "Invalid condition",
    `A condition is true or false, not ${value === null ? "null" : `a ${typeName(value)}`}.`,
    e.range,
  );
};

const binary = (s: EvalState, e: Expression & { kind: "binary" }, scope: Scope): Value => {
  // A long sum is a long left spine: walk it with a loop instead of the stack.
  const spine: (Expression & { kind: "binary" })[] = [];
  let first: Expression = e;
  while (first.kind === "binary") {
    spine.push(first);
    first = first.left;
  }
  s.charge(spine.length);
  let value = evaluateIn(s, first, scope);
  for (let i = spine.length - 1; i >= 0; i--) {
    const node = spine[i] as Expression & { kind: "binary" };
    value = apply(s, node, value, scope);
  }
  return value;
};

const apply = (s: EvalState, e: Expression & { kind: "binary" }, left: Value, scope: Scope): Value => {
  if (e.operator === "==" || e.operator === "!=") {
    return valuesEqual(left, evaluateIn(s, e.right, scope)) === (e.operator === "==");
  }
  if (e.operator === "&&" || e.operator === "||") {
    const a = asOperand(s, left, e.left, BOOL) as boolean;
    // The right side is not looked at when the left one decides.
    return a === (e.operator === "||") ? a : operand(s, e.right, scope, BOOL);
  }
  const a = asOperand(s, left, e.left, NUMBER) as number | HclNumber;
  const b = operand(s, e.right, scope, NUMBER) as number | HclNumber;
  if (e.operator === "<" || e.operator === "<=" || e.operator === ">" || e.operator === ">=")
    return ordered(e.operator, a, b);
  const result = arithmetic(e.operator, a, b);
  return typeof result === "object" && "error" in result
    ? s.fail("invalid-operand", "No result", `This calculation has no result: ${result.error}.`, e.range)
    : result;
};

const conditional = (s: EvalState, e: Expression & { kind: "conditional" }, scope: Scope): Value => {
  const first = condition(s, e.condition, scope);
  const chosen = evaluateIn(s, first ? e.ifTrue : e.ifFalse, scope);
  // The other side only takes part in finding the common type; its errors do not matter.
  const kept = s.diagnostics;
  s.diagnostics = [];
  let other: Value;
  try {
    other = evaluateIn(s, first ? e.ifFalse : e.ifTrue, scope);
  } catch (error) {
    if (error === STOPPED) kept.push(...s.diagnostics);
    if (error !== FAILED) throw error;
    return chosen;
  } finally {
    s.diagnostics = kept;
  }
  return common(s, chosen, other, e);
};

const common = (s: EvalState, chosen: Value, other: Value, e: Expression & { kind: "conditional" }): Value => {
  if (chosen === null || other === null || (typeof chosen === typeof other && typeof chosen !== "object"))
    return chosen;
  const type = unifyTypes([valueType(chosen), valueType(other)]);
  const converted = type && convertValue(chosen, type);
  if (converted?.ok) return converted.value;
  return s.fail(
    "inconsistent-types",
    "Inconsistent types",
    `Both results of a condition must be of one type; they are ${typeName(chosen)} and ${typeName(other)}.`,
    spanning(startRange(e.ifTrue), e.range),
    e.range,
  );
};

const template = (s: EvalState, e: TemplateExpression, scope: Scope): string => {
  let text = "";
  let failed = false;
  for (const part of e.parts) {
    try {
      const piece =
        part.kind === "literal" && typeof part.value === "string"
          ? part.value
          : asText(s, evaluateIn(s, part, scope), part);
      s.charge(1, piece.length);
      text += piece;
    } catch (error) {
      if (error !== FAILED) throw error;
      failed = true;
    }
  }
  if (failed) throw FAILED;
  return text;
};

const asText = (s: EvalState, value: Value, e: Expression): string =>
  toText(value) ??
  s.fail(
    "invalid-template-value",
    "Value does not fit in a text",
    `A string, number or bool is needed here, not ${value === null ? "null" : `a ${typeName(value)}`}.`,
    e.range,
  );

/** Keys and values of what a `for` runs over. */
const iterate = (s: EvalState, e: Expression, scope: Scope): [Value, Value][] => {
  const value = evaluateIn(s, e, scope);
  if (isList(value)) return value.map((v, i) => [i, v]);
  if (value !== null && isMap(value)) return sortedEntries(value);
  return s.fail(
    "invalid-iteration",
    "Not a collection",
    `"for" runs over a list or map, not ${value === null ? "null" : `a ${typeName(value)}`}.`,
    e.range,
  );
};

const bind = (e: { keyName: string | undefined; valueName: string }, key: Value, value: Value, scope: Scope): Scope => {
  const outer: Scope = e.keyName === undefined ? scope : { name: e.keyName, value: key, next: scope };
  return { name: e.valueName, value, next: outer };
};

const templateFor = (s: EvalState, e: TemplateForExpression, scope: Scope): string => {
  let text = "";
  for (const [key, value] of iterate(s, e.collection, scope)) {
    s.charge(1);
    text += template(s, e.body, bind(e, key, value, scope));
  }
  return text;
};

const forExpression = (s: EvalState, e: ForExpression, scope: Scope): Value => {
  const entries = iterate(s, e.collection, scope);
  const list: Value[] = [];
  const map = new Map<string, Value>();
  for (const [key, value] of entries) {
    s.charge(1, 1);
    const inner = bind(e, key, value, scope);
    if (e.condition !== undefined && !condition(s, e.condition, inner)) continue;
    if (e.key === undefined) {
      list.push(evaluateIn(s, e.value, inner));
      continue;
    }
    const name = keyText(s, evaluateIn(s, e.key, inner), e.key);
    const item = evaluateIn(s, e.value, inner);
    if (e.grouping) {
      const group = map.get(name) as Value[] | undefined;
      if (group) group.push(item);
      else map.set(name, [item]);
    } else if (map.has(name)) {
      s.fail(
        "duplicate-object-key",
        "Key given twice",
        `Two items have the key ${JSON.stringify(name)}. Put "..." behind the value to collect them in lists.`,
        e.key.range,
        e.range,
      );
    } else map.set(name, item);
  }
  return e.key === undefined ? list : map;
};

const keyText = (s: EvalState, value: Value, e: Expression): string =>
  toText(value) ??
  s.fail(
    "invalid-object-key",
    "Invalid key",
    `A key is a string, not ${value === null ? "null" : `a ${typeName(value)}`}.`,
    e.range,
  );

const object = (s: EvalState, e: ObjectExpression, scope: Scope): Value => {
  s.charge(0, e.items.length);
  const out = new Map<string, Value>();
  let failed = false;
  for (const item of e.items) {
    try {
      const key = keyText(s, evaluateIn(s, item.key, scope), item.key);
      out.set(key, evaluateIn(s, item.value, scope));
    } catch (error) {
      if (error !== FAILED) throw error;
      failed = true;
    }
  }
  if (failed) throw FAILED;
  return out;
};

const objectKey = (s: EvalState, e: Expression, scope: Scope): Value => {
  const word = keyword(e);
  if (word !== undefined) return word;
  if (e.kind === "traversal") {
    return s.fail(
      "invalid-object-key",
      "Ambiguous key",
      "Put a reference in parentheses, or a name with dots in quotes.",
      e.range,
    );
  }
  return evaluateIn(s, e, scope);
};

const splat = (s: EvalState, e: SplatExpression, scope: Scope): Value => {
  const source = evaluateIn(s, e.source, scope);
  // Null has no items; a single value is its own only item.
  const items = source === null ? [] : isList(source) ? source : [source];
  s.charge(items.length, items.length);
  return items.map((value) => evaluateIn(s, e.each, { item: e.item, value, next: scope }));
};
