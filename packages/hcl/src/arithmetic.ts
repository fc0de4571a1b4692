import type { BinaryOperator } from "./expressions.ts";
import { compareNumber } from "./compare.ts";
import { HclNumber, simplify } from "./number.ts";

type Num = number | HclNumber;

/** A message for an operation without result. */
export type ArithmeticError = { readonly error: string };

const safe = (n: number): boolean => Number.isSafeInteger(n);
const infinite = (n: Num): boolean => typeof n === "number" && !Number.isFinite(n);
const isZero = (n: Num): boolean => n === 0;
const sign = (n: Num): number => (typeof n === "number" ? Math.sign(n) : n.sign);

/** `a operator b` with 512 bits of precision; whole numbers take the short way. */
export const arithmetic = (operator: BinaryOperator, a: Num, b: Num): Num | ArithmeticError => {
  if (infinite(a) || infinite(b)) return withInfinity(operator, a, b);
  if (isZero(b) && (operator === "/" || operator === "%")) {
    if (operator === "%" || isZero(a)) return { error: operator === "%" ? "division by zero" : "zero divided by zero" };
    return sign(a) > 0 ? Infinity : -Infinity;
  }
  if (typeof a === "number" && typeof b === "number" && safe(a) && safe(b)) {
    const quick =
      operator === "+" ? a + b : operator === "-" ? a - b : operator === "*" ? a * b : operator === "/" ? a / b : a % b;
    // An integral quotient of safe integers is exact.
    if (safe(quick)) return quick === 0 ? 0 : quick;
  }
  return exact(operator, HclNumber.of(a), HclNumber.of(b));
};

const exact = (operator: BinaryOperator, x: HclNumber, y: HclNumber): Num | ArithmeticError => {
  switch (operator) {
    case "+":
      return simplify(x.add(y));
    case "-":
      return simplify(x.add(y.negate()));
    case "*":
    case "/": {
      const result = operator === "*" ? x.multiply(y) : x.divide(y);
      return result === undefined ? { error: "the result is out of range" } : simplify(result);
    }
    default:
      return simplify(x.remainder(y));
  }
};

const withInfinity = (operator: BinaryOperator, a: Num, b: Num): Num | ArithmeticError => {
  const x = infinite(a) ? (a as number) : sign(a);
  const y = infinite(b) ? (b as number) : sign(b);
  const result =
    operator === "+"
      ? x + y
      : operator === "-"
        ? x - y
        : operator === "*"
          ? x * y
          : operator === "/"
            ? x / y
            : Number.NaN;
  return Number.isNaN(result) ? { error: "the result is not a number" } : result === 0 ? 0 : result;
};

/** Comparison operators. */
export const ordered = (operator: BinaryOperator, a: Num, b: Num): boolean => {
  const c = compareNumber(a, b);
  return operator === "<" ? c < 0 : operator === "<=" ? c <= 0 : operator === ">" ? c > 0 : c >= 0;
};

/** `-a`. */
export const negate = (a: Num): Num => (typeof a === "number" ? (a === 0 ? 0 : -a) : simplify(a.negate()));
