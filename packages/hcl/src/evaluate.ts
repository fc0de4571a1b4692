import { negate } from "./arithmetic.ts";
import type { Expression } from "./expressions.ts";
import { EvalState, type Evaluator, FAILED } from "./eval-state.ts";
import type { EvalContext, EvalResult } from "./eval-types.ts";
import { callFunction } from "./evaluate-call.ts";
import { forExpression, object, objectKey, splat, template, templateFor } from "./evaluate-collections.ts";
import { binary, condition, conditional, operand } from "./evaluate-operators.ts";
import { evaluateTraversal, indexValue, step } from "./evaluate-traversal.ts";
import type { HclNumber } from "./number.ts";
import { findItem, type Scope } from "./scope.ts";
import { spanning } from "./source.ts";
import { BOOL, NUMBER } from "./types.ts";
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
