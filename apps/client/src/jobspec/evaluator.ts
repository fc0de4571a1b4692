import { evaluate, type Diagnostic, type EvalContext, type Expression, type Value } from "@outrider/hcl";
import { MAX_EXPRESSION_STEPS, MAX_FILE_STEPS } from "./limits.ts";

/** Steps allowed at first; each further try has ten times more. */
const FIRST_ALLOWANCE = 100;
const FACTOR = 10;

/**
 * Evaluates the expressions of one file out of one budget of steps.
 *
 * An evaluation does not tell what it used, so each gets a small allowance first and a larger one only when it runs out;
 * what is charged is the allowance that was enough, at most ten times the real use.
 */
export class FileEvaluator {
  #left = MAX_FILE_STEPS;

  evaluate(
    expression: Expression,
    context: EvalContext,
  ): { value: Value | undefined; diagnostics: readonly Diagnostic[] } {
    for (let allowance = FIRST_ALLOWANCE; ; allowance *= FACTOR) {
      const maxSteps = Math.max(1, Math.min(allowance, MAX_EXPRESSION_STEPS, this.#left));
      const result = evaluate(expression, { parent: context, limits: { maxSteps } });
      this.#left -= maxSteps;
      const stopped = result.diagnostics.some((d) => d.code === "limit-exceeded");
      if (!stopped || allowance >= MAX_EXPRESSION_STEPS || this.#left <= 0) return result;
    }
  }
}
