import type { Expression, TraversalExpression } from "./expressions.ts";
import type { Diagnostic } from "./diagnostic.ts";
import type { HclType } from "./types.ts";
import type { Value } from "./value.ts";

/**
 * What names mean while an expression is evaluated.
 * @public
 */
export interface EvalContext {
  /** Variables by root name; `var.x` is the key `x` of the map that stands under `var`. */
  readonly variables?: Variables;
  /** Functions by name. */
  readonly functions?: Functions;
  /** Names that this context does not have are looked up there. */
  readonly parent?: EvalContext;
  /**
   * What becomes of a traversal whose root no context knows: an error (default); "keep-text": its own source text in `${…}`,
   * so that `"${attr.kernel.name}"` stays as written; or a function's answer (undefined is an error).
   */
  readonly unknownTraversal?:
    | "error"
    | "keep-text"
    | ((traversal: TraversalExpression, text: string) => Value | undefined);
  /** Bounds of one `evaluate` call. */
  readonly limits?: EvalLimits;
}

/**
 * A plain object or a map of variables. Only own properties count, so `__proto__` and `toString` are no variables by accident.
 * @public
 */
export type Variables = Readonly<Record<string, Value>> | ReadonlyMap<string, Value>;

/**
 * A plain object or a map of functions; only own properties count.
 * @public
 */
export type Functions = Readonly<Record<string, HclFunction>> | ReadonlyMap<string, HclFunction>;

/**
 * Bounds in counts, not in time, so that a result never depends on the machine.
 * @public
 */
export interface EvalLimits {
  /** Nodes visited and items handled. Default 1,000,000. */
  readonly maxSteps?: number;
  /** Depth of nested expressions. Default 1,024. */
  readonly maxDepth?: number;
  /** Size of all texts and collections made, in UTF-16 units and items. Default 16 Mi. */
  readonly maxOutputBytes?: number;
}

/**
 * The value, or undefined when a diagnostic is an error.
 * @public
 */
export interface EvalResult {
  readonly value: Value | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * A function that expressions can call. Arguments are converted to the declared types before `call`; it reports its own
 * failures by throwing a {@link FunctionError}.
 * @public
 */
export interface HclFunction {
  readonly params: readonly ParamSpec[];
  /** Any number of further arguments. */
  readonly variadic?: ParamSpec;
  call(args: readonly Value[], c: CallContext): Value;
}

/**
 * One parameter.
 * @public
 */
export interface ParamSpec {
  readonly name: string;
  /**
   * Type the argument is converted to; a word stands for a simple one. "dynamic" takes any value. "expression" passes no value: the function evaluates
   * `c.expressions[i]` itself (`try`, `can`). "type" parses the argument as a type, to be found in `c.types[i]` (`convert`).
   */
  readonly type: HclType | "string" | "number" | "bool" | "any" | "dynamic" | "expression" | "type";
  /** Whether null may be passed. Default false. */
  readonly allowNull?: boolean;
}

/**
 * What a function can use besides its arguments.
 * @public
 */
export interface CallContext {
  /** The unevaluated arguments. */
  readonly expressions: readonly Expression[];
  /** Parsed types of parameters of kind "type", by argument index. */
  readonly types: readonly (HclType | undefined)[];
  /** Evaluates an expression in the scope of the call; its errors are given back, not reported. */
  evaluate(e: Expression): EvalResult;
  /** Counts work and output against the limits; a function that makes much calls it before it does. */
  charge(steps: number, output?: number): void;
}

/**
 * A failure inside a function. With `argument` the diagnostic points at that argument.
 * @public
 */
export class FunctionError extends Error {
  readonly code = "function-failed";
  readonly recoverable = false;
  /** Index of the argument at fault. */
  readonly argument: number | undefined;

  constructor(message: string, argument?: number) {
    super(message);
    this.name = "FunctionError";
    this.argument = argument;
    // The brand of all Outrider packages, so that two installed copies still recognise their errors.
    Object.defineProperty(this, Symbol.for("outrider.error"), { value: true });
  }
}
