import type { Expression } from "./expressions.ts";
import type { Diagnostic, DiagnosticCode, Range } from "./diagnostic.ts";
import type { EvalContext, EvalLimits, EvalResult } from "./eval-types.ts";
import { type Scope, withSetting } from "./scope.ts";
import type { Value } from "./value.ts";

/** Defaults of {@link EvalLimits}. */
export const DEFAULT_EVAL_LIMITS: Required<EvalLimits> = {
  maxSteps: 1_000_000,
  maxDepth: 1_024,
  maxOutputBytes: 16 * 1024 * 1024,
};

/** Thrown after a diagnostic was added; siblings are still evaluated. */
export const FAILED: unique symbol = Symbol("evaluation failed");
/** Thrown when a limit is reached: nothing more is evaluated. */
export const STOPPED: unique symbol = Symbol("evaluation stopped");

/** Budgets shared by one call of `evaluate` with everything it calls. */
export class Budget {
  steps: number;
  output: number;
  readonly maxDepth: number;
  depth = 0;

  constructor(limits: EvalLimits) {
    this.steps = limits.maxSteps ?? DEFAULT_EVAL_LIMITS.maxSteps;
    this.output = limits.maxOutputBytes ?? DEFAULT_EVAL_LIMITS.maxOutputBytes;
    this.maxDepth = limits.maxDepth ?? DEFAULT_EVAL_LIMITS.maxDepth;
  }
}

/** The recursive heart of the evaluator; given from outside, since functions need it too. */
export type Evaluator = (s: EvalState, e: Expression, scope: Scope) => Value;

/** Context, budgets and diagnostics of an evaluation. */
export class EvalState {
  readonly context: EvalContext;
  readonly budget: Budget;
  readonly unknownTraversal: NonNullable<EvalContext["unknownTraversal"]>;
  diagnostics: Diagnostic[] = [];
  /** What is being evaluated, for the message of a limit. */
  current: Range;

  readonly #evaluate: Evaluator;

  constructor(context: EvalContext, start: Range, evaluator: Evaluator, budget?: Budget) {
    this.#evaluate = evaluator;
    this.context = context;
    this.budget = budget ?? new Budget(withSetting("limits", context)?.limits ?? {});
    this.unknownTraversal = withSetting("unknownTraversal", context)?.unknownTraversal ?? "error";
    this.current = start;
  }

  /** Value of an expression in a scope; throws FAILED after reporting. */
  evaluate(e: Expression, scope: Scope): Value {
    return this.#evaluate(this, e, scope);
  }

  /** Evaluates like a call of its own, but out of the same budgets. */
  nested(e: Expression, scope: Scope): EvalResult {
    return new EvalState(this.context, e.range, this.#evaluate, this.budget).run(e, scope);
  }

  /** Evaluates and catches what ends an evaluation. */
  run(e: Expression, scope: Scope): EvalResult {
    const depth = this.budget.depth;
    try {
      return { value: this.evaluate(e, scope), diagnostics: this.diagnostics };
    } catch (error) {
      if (error instanceof RangeError) {
        this.report(
          "limit-exceeded",
          "Evaluation stopped",
          "The expression or its value is nested deeper than the stack allows.",
          this.current,
        );
      } else if (error !== FAILED && error !== STOPPED) throw error;
      this.budget.depth = depth;
      return { value: undefined, diagnostics: this.diagnostics };
    }
  }

  report(code: DiagnosticCode, summary: string, detail: string, subject: Range, context?: Range): void {
    this.diagnostics.push({ severity: "error", code, summary, detail, subject, ...(context ? { context } : {}) });
  }

  fail(code: DiagnosticCode, summary: string, detail: string, subject: Range, context?: Range): never {
    this.report(code, summary, detail, subject, context);
    throw FAILED;
  }

  /** Counts work; stops the evaluation when a budget is used up. */
  charge(steps: number, output: number = 0): void {
    this.budget.steps -= steps;
    this.budget.output -= output;
    if (this.budget.steps < 0) this.stop("it takes too many steps");
    if (this.budget.output < 0) this.stop("it makes too large a value");
  }

  stop(reason: string): never {
    this.report("limit-exceeded", "Evaluation stopped", `The expression was given up: ${reason}.`, this.current);
    throw STOPPED;
  }
}
