import type { Expression } from "./expressions.ts";
import { evaluate } from "./evaluate.ts";
import { type DecodeTypeResult, decodeTypeWith } from "./type-expression.ts";

/**
 * Reads an expression as a type: `string`, `number`, `bool`, `any`, `list(T)`, `set(T)`, `map(T)`, `tuple([T, …])`,
 * `object({name = T, other = optional(T, default)})`.
 * @public
 */
export const decodeType = (e: Expression): DecodeTypeResult => decodeTypeWith(e, (x) => evaluate(x, {}).value);
