import { evaluate, extraFunctions, parse, parseExpression, stdlib, type Diagnostic } from "../src/index.ts";

const lineOf = ({ code, summary, detail, subject, context }: Diagnostic): string => {
  const at = ({ start, end }: typeof subject): string => `${start.line}:${start.column}-${end.line}:${end.column}`;
  return `${code} ${at(subject)}${context === undefined ? "" : ` in ${at(context)}`} | ${summary} | ${detail}`;
};

/** Everything that is said of a file. */
export const toldOfFile = (text: string): string[] => parse(text).diagnostics.map(lineOf);

/** Everything that is said of an expression and its value. */
export const toldOfExpression = (text: string): string[] => {
  const { expression, diagnostics } = parseExpression(text);
  if (expression === undefined) return diagnostics.map(lineOf);
  return evaluate(expression, { functions: { ...extraFunctions, ...stdlib } }).diagnostics.map(lineOf);
};
