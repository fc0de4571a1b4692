import { arithmetic, ordered } from "./arithmetic.ts";
import type { Expression } from "./expressions.ts";
import { valuesEqual } from "./compare.ts";
import { convertValue, typeName } from "./convert.ts";
import { type EvalState, FAILED, STOPPED } from "./eval-state.ts";
import type { HclNumber } from "./number.ts";
import { startRange } from "./ranges.ts";
import type { Scope } from "./scope.ts";
import { spanning } from "./source.ts";
import { BOOL, type HclType, NUMBER } from "./types.ts";
import { unifyTypes, valueType } from "./unify.ts";
import type { Value } from "./value.ts";

/** Value of an operand, converted to what its operator takes. */
export const operand = (s: EvalState, e: Expression, scope: Scope, type: HclType): Value =>
  asOperand(s, s.evaluate(e, scope), e, type);

const asOperand = (s: EvalState, value: Value, e: Expression, type: HclType): Value => {
  if (value === null)
    return s.fail("invalid-operand", "Invalid operand", `The operand is null; a ${type.kind} is required.`, e.range);
  const converted = convertValue(value, type);
  return converted.ok
    ? converted.value
    : s.fail("invalid-operand", "Invalid operand", `Unsuitable value for the operand: ${converted.message}.`, e.range);
};

/** A value that decides something. */
export const condition = (s: EvalState, e: Expression, scope: Scope): boolean => {
  const value = s.evaluate(e, scope);
  const converted = value === null ? undefined : convertValue(value, BOOL);
  if (converted?.ok) return converted.value as boolean;
  return s.fail(
    "invalid-condition",
    "Invalid condition",
    `A condition is true or false, not ${value === null ? "null" : `a ${typeName(value)}`}.`,
    e.range,
  );
};

/** `left operator right`. */
export const binary = (s: EvalState, e: Expression & { kind: "binary" }, scope: Scope): Value => {
  // A long sum is a long left spine: walk it with a loop instead of the stack.
  const spine: (Expression & { kind: "binary" })[] = [];
  let first: Expression = e;
  while (first.kind === "binary") {
    spine.push(first);
    first = first.left;
  }
  s.charge(spine.length);
  let value = s.evaluate(first, scope);
  for (let i = spine.length - 1; i >= 0; i--) {
    const node = spine[i] as Expression & { kind: "binary" };
    value = apply(s, node, value, scope);
  }
  return value;
};

const apply = (s: EvalState, e: Expression & { kind: "binary" }, left: Value, scope: Scope): Value => {
  if (e.operator === "==" || e.operator === "!=") {
    return valuesEqual(left, s.evaluate(e.right, scope)) === (e.operator === "==");
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

/** `condition ? ifTrue : ifFalse`: a value of the type that both sides have in common. */
export const conditional = (s: EvalState, e: Expression & { kind: "conditional" }, scope: Scope): Value => {
  const first = condition(s, e.condition, scope);
  const chosen = s.evaluate(first ? e.ifTrue : e.ifFalse, scope);
  // The other side only takes part in finding the common type; its errors do not matter.
  const kept = s.diagnostics;
  s.diagnostics = [];
  let other: Value;
  try {
    other = s.evaluate(first ? e.ifFalse : e.ifTrue, scope);
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
