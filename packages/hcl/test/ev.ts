import { evaluate, extraFunctions, parseExpression, stdlib, valueFromJs, valueToJs } from "../src/index.ts";
import type { EvalContext } from "../src/index.ts";

/** Plain JavaScript of a value, `undefined` never. */
const plain = (x: unknown): unknown =>
  Array.isArray(x)
    ? x.map(plain)
    : x !== null && typeof x === "object"
      ? Object.fromEntries(Object.entries(x).map(([k, v]) => [k, plain(v)]))
      : x;

/** Value of an expression as JavaScript, or `code line:column` of the first error. */
export const ev = (text: string, variables: Record<string, unknown> = {}, more: Partial<EvalContext> = {}): unknown => {
  const { expression, diagnostics } = parseExpression(text);
  if (expression === undefined) return place(diagnostics);
  const values = Object.fromEntries(Object.entries(variables).map(([k, v]) => [k, valueFromJs(v)]));
  const result = evaluate(expression, { variables: values, functions: { ...extraFunctions, ...stdlib }, ...more });
  return result.value === undefined ? place(result.diagnostics) : plain(valueToJs(result.value));
};

export const place = (
  diagnostics: readonly { code: string; subject: { start: { line: number; column: number } } }[],
): string =>
  diagnostics.map((d) => `${d.code} ${d.subject.start.line}:${d.subject.start.column}`)[0] ?? "no diagnostic";

/** Detail of the first error. */
export const why = (text: string): string => {
  const { expression, diagnostics } = parseExpression(text);
  if (expression === undefined) return diagnostics[0]?.detail ?? "";
  return evaluate(expression, { functions: { ...extraFunctions, ...stdlib } }).diagnostics[0]?.detail ?? "";
};
