import { rangeError } from "./backoff-error.ts";
import { checkNumber } from "./check.ts";

/** Options of {@link backoff}. @public */
export interface BackoffFactor {
  /** Growth per attempt, finite and ≥ 1. Default 2, which is exact. */
  readonly factor?: number | undefined;
}

/** Doublings that are done at once. */
const STEP = 1000;

/** 2^0 … 2^1000: the power operator would take most of the time. */
const POWERS = /* @__PURE__ */ Float64Array.from({ length: STEP + 1 }, (_, i) => 2 ** i);

/**
 * The delay before retry number `attempt`: `min(limit, base * factor^attempt)`, in the unit of `base` and `limit` (ms by habit).
 *
 * The cap is looked at before anything is multiplied, so no attempt number (also a `bigint` of 2^64−1 or 1e308) gives a
 * negative, zero, shrinking, infinite or NaN delay. Attempt 0 gives `base`; `base` 0 or `limit` 0 gives 0.
 * @throws {@link BackoffRangeError} (a `RangeError`) naming the argument, for anything that is not such a number.
 * @public
 */
export function backoff(
  base: number,
  limit: number,
  attempt: number | bigint,
  { factor = 2 }: BackoffFactor = {},
): number {
  checkNumber("base", base);
  checkNumber("limit", limit);
  let n = typeof attempt === "bigint" ? Math.min(Number(attempt), Number.MAX_VALUE) : attempt;
  if (!(Number.isInteger(n) && n >= 0)) throw rangeError("attempt", attempt, "an integer >= 0");
  checkNumber("factor", factor, 1);
  // At most about 2^1000 at a time, so that no power overflows; from the smallest to the largest double it takes three.
  const most = factor === 2 ? STEP : STEP / Math.log2(factor);
  let delay = Math.min(base, limit);
  for (; n > 0 && delay > 0 && delay < limit; n -= most) {
    const step = Math.min(n, most);
    const p = factor === 2 ? (POWERS[step] as number) : factor ** step;
    // Dividing by a power of two is exact, hence so is the comparison, and the product stays at or below the limit.
    delay = delay > limit / p ? limit : Math.min(limit, delay * p);
  }
  return delay;
}
