import { BackoffRangeError } from "./backoff-error.ts";
import { checkDuration } from "./check.ts";

/** Options of {@link backoff}. @public */
export interface BackoffFactor {
  /** Growth per attempt, finite and ≥ 1. Default 2, which is exact. */
  readonly factor?: number;
}

/** 2^0 … 2^1023, filled at the first use so that importing the module does nothing. */
let powers: Float64Array | undefined;

function powersOfTwo(): Float64Array {
  const table = new Float64Array(1024);
  let p = 1;
  for (let i = 0; i < 1024; i++, p *= 2) table[i] = p;
  return (powers = table);
}

/**
 * The delay before retry number `attempt`: `min(limit, base * factor^attempt)`, in the unit of `base` and `limit` (ms by habit).
 *
 * The cap is looked at before anything is multiplied, so no attempt number (also a `bigint` of 2^64−1 or 1e308) gives a
 * negative, zero, shrinking, infinite or NaN delay. Attempt 0 gives `base`; `base` 0 or `limit` 0 gives 0.
 * @throws {@link BackoffRangeError} (a `RangeError`) naming the argument, for anything that is not such a number.
 * @public
 */
export function backoff(base: number, limit: number, attempt: number | bigint, options?: BackoffFactor): number {
  checkDuration("base", base);
  checkDuration("limit", limit);
  let n = attempt as number;
  if (typeof attempt === "bigint" && attempt >= 0n) n = Number(attempt < MAX_BIG ? attempt : MAX_BIG);
  if (!(Number.isInteger(n) && n >= 0)) throw new BackoffRangeError("attempt", attempt, "an integer >= 0");
  const factor = options?.factor ?? 2;
  if (factor === 2 && n < 1024 && base > 0) {
    const p = (powers ?? powersOfTwo())[n] as number;
    // Dividing by a power of two is exact, hence so is the comparison, and the product stays at or below the limit.
    return base > limit / p ? limit : base * p;
  }
  return grow(base, limit, n, factor);
}

/** Any attempt from here on is saturated or does not grow at all; keeps 2^64 and beyond out of `Number`. */
const MAX_BIG = 1n << 64n;

/** The general case: other factors, and attempts that only a base near the smallest double can survive. */
function grow(base: number, limit: number, attempt: number, factor: number): number {
  if (!(factor >= 1 && factor <= Number.MAX_VALUE))
    throw new BackoffRangeError("factor", factor, "a finite number >= 1");
  if (base === 0 || limit === 0) return 0;
  const bits = Math.log2(factor);
  // From the smallest to the largest double there are 2098 doublings.
  if (bits * attempt > 2100) return limit;
  let delay = Math.min(base, limit);
  // In steps of at most about 2^1000, so that no power overflows.
  const most = Math.max(1, Math.floor(1000 / bits));
  for (let left = attempt; left > 0 && delay < limit;) {
    const step = Math.min(left, most);
    const p = factor ** step;
    delay = delay >= limit / p ? limit : delay * p;
    left -= step;
  }
  return delay;
}

/** Fallback of {@link clampBackoff}: five minutes. @public */
export const DEFAULT_LIMIT_MS = 300_000;

/**
 * {@link backoff} for values from a configuration file: never throws. Where `backoff` would throw, the answer is `limit` if
 * that is usable, else `fallback` (default {@link DEFAULT_LIMIT_MS}); never 0 because of a mistake.
 * @public
 */
export function clampBackoff(
  base: number,
  limit: number,
  attempt: number | bigint,
  options: BackoffFactor & { readonly fallback?: number } = {},
): number {
  try {
    return backoff(base, limit, attempt, options);
  } catch {
    return limit > 0 && limit <= Number.MAX_VALUE ? limit : (options.fallback ?? DEFAULT_LIMIT_MS);
  }
}
