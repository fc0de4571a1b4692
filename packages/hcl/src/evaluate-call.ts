import type { CallExpression, Expression } from "./expressions.ts";
import { isList } from "./compare.ts";
import { convertValue, typeName } from "./convert.ts";
import type { Range } from "./diagnostic.ts";
import { type EvalState, FAILED, STOPPED } from "./eval-state.ts";
import { type CallContext, FunctionError, type HclFunction, type ParamSpec } from "./eval-types.ts";
import { startRange } from "./ranges.ts";
import { findFunction, type Scope } from "./scope.ts";
import { decodeTypeWith } from "./type-expression.ts";
import type { HclType } from "./types.ts";
import type { Value } from "./value.ts";

/** An argument: where it was written, and its value unless the parameter takes none. */
interface Argument {
  expression: Expression;
  value: Value;
  /** Set when it came out of an expanded list. */
  expanded: boolean;
}

/** Evaluates a call. */
export const callFunction = (s: EvalState, e: CallExpression, scope: Scope): Value => {
  const f = findFunction(e.name, s.context);
  if (f === undefined)
    return s.fail(
      "unknown-function",
      "Unknown function",
      `There is no function named ${JSON.stringify(e.name)}.`,
      e.nameRange,
      e.range,
    );
  const args = evaluateArguments(s, e, f, scope);
  checkCount(s, e, f, args);
  const types: (HclType | undefined)[] = [];
  let failed = false;
  const values = args.map((argument, i) => {
    try {
      return prepare(s, specOf(f, i) as ParamSpec, argument, types, i);
    } catch (error) {
      if (error !== FAILED) throw error;
      failed = true;
      return null;
    }
  });
  if (failed) throw FAILED;
  return invoke(s, e, f, args, values, types, scope);
};

const specOf = (f: HclFunction, i: number): ParamSpec | undefined => f.params[i] ?? f.variadic;

const evaluateArguments = (s: EvalState, e: CallExpression, f: HclFunction, scope: Scope): Argument[] => {
  const args: Argument[] = [];
  let failed = false;
  e.arguments.forEach((expression, i) => {
    const type = specOf(f, i)?.type;
    const last = e.expandFinal && i === e.arguments.length - 1;
    if ((type === "expression" || type === "type") && !last)
      return void args.push({ expression, value: null, expanded: false });
    try {
      const value = s.evaluate(expression, scope);
      if (!last) args.push({ expression, value, expanded: false });
      else if (!isList(value))
        s.fail(
          "invalid-argument",
          "Invalid expansion",
          `"..." needs a list, not ${value === null ? "null" : `a ${typeName(value)}`}.`,
          expression.range,
          e.range,
        );
      else for (const item of value) args.push({ expression, value: item, expanded: true });
    } catch (error) {
      if (error !== FAILED) throw error;
      failed = true;
    }
  });
  if (failed) throw FAILED;
  return args;
};

const checkCount = (s: EvalState, e: CallExpression, f: HclFunction, args: Argument[]): void => {
  const need = f.params.length;
  if (args.length < need) {
    const missing = (f.params[args.length] as ParamSpec).name;
    s.fail(
      "too-few-arguments",
      "Argument missing",
      `${e.name} needs ${f.variadic ? "at least " : ""}${need} argument(s); "${missing}" is missing.`,
      e.closeParenRange,
      e.range,
    );
  }
  if (args.length > need && f.variadic === undefined) {
    s.fail(
      "too-many-arguments",
      "Too many arguments",
      `${e.name} takes ${need} argument(s) only.`,
      startRange((args[need] as Argument).expression),
      e.range,
    );
  }
};

const prepare = (
  s: EvalState,
  spec: ParamSpec,
  argument: Argument,
  types: (HclType | undefined)[],
  i: number,
): Value => {
  const place = startRange(argument.expression);
  if (spec.type === "expression") {
    if (argument.expanded)
      s.fail("invalid-argument", "Invalid argument", `"${spec.name}" cannot come from "...".`, place);
    return null;
  }
  if (spec.type === "type") {
    const { type, diagnostics } = decodeTypeWith(argument.expression, (x) => s.nested(x, undefined).value);
    s.diagnostics.push(...diagnostics);
    if (type === undefined) throw FAILED;
    types[i] = type;
    return null;
  }
  if (argument.value === null && spec.allowNull !== true) {
    return s.fail(
      "invalid-argument",
      "Invalid argument",
      `Invalid value for "${spec.name}": it must not be null.`,
      place,
    );
  }
  if (spec.type === "dynamic") return argument.value;
  const converted = convertValue(argument.value, typeof spec.type === "string" ? { kind: spec.type } : spec.type);
  if (converted.ok) return converted.value;
  const where = converted.path === "" ? "" : ` at ${converted.path}`;
  return s.fail(
    "invalid-argument",
    "Invalid argument",
    `Invalid value for "${spec.name}"${where}: ${converted.message}.`,
    place,
  );
};

const invoke = (
  s: EvalState,
  e: CallExpression,
  f: HclFunction,
  args: Argument[],
  values: Value[],
  types: (HclType | undefined)[],
  scope: Scope,
): Value => {
  const c: CallContext = {
    expressions: args.map((a) => a.expression),
    types,
    evaluate: (inner) => {
      const result = s.nested(inner, scope);
      if (s.budget.steps < 0 || s.budget.output < 0) throw STOPPED;
      return result;
    },
    charge: (steps, output) => s.charge(steps, output),
  };
  const place: Range = startRange(e);
  s.current = place;
  try {
    const value = f.call(values, c);
    s.charge(1, typeof value === "string" ? value.length : isList(value) ? value.length : 0);
    return value;
  } catch (error) {
    if (error === STOPPED && s.diagnostics.length === 0)
      s.report("limit-exceeded", "Evaluation stopped", `The call of ${e.name} takes too much.`, place);
    if (!(error instanceof FunctionError)) throw error;
    const argument = error.argument === undefined ? undefined : args[error.argument];
    const subject = argument === undefined ? place : startRange(argument.expression);
    return s.fail(
      "function-failed",
      "Function failed",
      `The call of ${e.name} failed: ${error.message}.`,
      subject,
      e.range,
    );
  }
};
