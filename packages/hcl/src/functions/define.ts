import { FunctionError, type HclFunction, type ParamSpec } from "../eval-types.ts";
import type { Value } from "../value.ts";

/** A parameter of a table entry. */
export const param = (name: string, type: ParamSpec["type"], allowNull: boolean = false): ParamSpec => ({
  name,
  type,
  allowNull,
});

/** A function with a fixed number of parameters. */
export const fixed = (params: readonly ParamSpec[], call: HclFunction["call"]): HclFunction => ({ params, call });

/** A function whose last parameter may be repeated, also zero times. */
export const variadic = (params: readonly ParamSpec[], rest: ParamSpec, call: HclFunction["call"]): HclFunction => ({
  params,
  variadic: rest,
  call,
});

/** Argument `i` as a whole number that JavaScript can count with. */
export const whole = (args: readonly Value[], i: number): number => {
  const n = args[i];
  if (typeof n !== "number" || !Number.isSafeInteger(n)) throw new FunctionError("a whole number is required", i);
  return n;
};

let segmenter: Intl.Segmenter | undefined;

/** The grapheme clusters of a text. */
export const clusters = (text: string): string[] => {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return Array.from(segmenter.segment(text), (s) => s.segment);
};
