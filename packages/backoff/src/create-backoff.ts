import { backoff } from "./backoff.ts";
import { rangeError } from "./backoff-error.ts";
import { checkNumber, draw } from "./check.ts";
import { type Clock, systemClock } from "./clock.ts";

/**
 * How a delay is spread, with E = min(limit, base·factor^attempt) and U a uniform draw:
 * `none` E · `full` U[0, E) · `equal` E/2 + U[0, E/2) · `decorrelated` min(limit, U[base, 3·previous)) ·
 * `nomad` E + U[0, base), the only one that may exceed the limit (by less than base).
 * @public
 */
export type Jitter = "none" | "full" | "equal" | "decorrelated" | "nomad";

/** Options of {@link createBackoff}. @public */
export interface BackoffOptions {
  /** First delay in ms, ≥ 0. */
  readonly base: number;
  /** Longest delay in ms, ≥ 0; there is no endless default. */
  readonly limit: number;
  /** Growth per attempt. Default 2. */
  readonly factor?: number | undefined;
  /** Default `"none"`. */
  readonly jitter?: Jitter | undefined;
  /** Draws in [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** How long (ms) `markHealthy` must hold before the counter returns to the start. Default 0: at once. */
  readonly resetAfter?: number | undefined;
  /** Attempt number of the first delay. Default 0; some Nomad loops start at 1, so that the first wait is 2·base. */
  readonly startAt?: number | undefined;
  /** Only `monotonic` is used, for `resetAfter`. Default {@link systemClock}. */
  readonly clock?: Clock | undefined;
}

/** A counter of failures that knows the next delay. @public */
export interface Backoff {
  /** The next delay in ms; counts one attempt. */
  next(): number;
  /** What `next()` will answer, without counting. */
  peek(): number;
  /** Back to the first delay. */
  reset(): void;
  /** Number of the coming delay; stays at 2^53−1 instead of overflowing. */
  readonly attempt: number;
  /** The cap in ms. */
  readonly limit: number;
  /** The guarded thing works since now. Once it did so for `resetAfter` ms, the counter returns to the start. */
  markHealthy(): void;
  /** The guarded thing failed; if it was healthy for too short a time, the counter stays where it is. */
  markFailed(): void;
}

const JITTERS = ["none", "full", "equal", "decorrelated", "nomad"];

/** The source of chance where none is injected; looked up at call time. */
// oxlint-disable-next-line no-restricted-properties -- the default of every `random` option
export const mathRandom = (): number => Math.random();

/**
 * A stateful backoff: one `next()` per failure. All options are checked here, not at the first delay.
 * @throws {@link BackoffRangeError}
 * @public
 */
export function createBackoff(options: BackoffOptions): Backoff {
  const {
    base,
    limit,
    jitter = "none",
    random = mathRandom,
    resetAfter = 0,
    startAt = 0,
    clock = systemClock,
    ...growth
  } = options;
  backoff(base, limit, startAt, growth);
  checkNumber("resetAfter", resetAfter);
  if (!JITTERS.includes(jitter)) throw rangeError("jitter", jitter, `one of ${String(JITTERS)}`);
  let attempt = startAt;
  let previous = base;
  let peeked: number | undefined;
  let healthySince: number | undefined;

  const restart = (): void => {
    attempt = startAt;
    previous = base;
    peeked = healthySince = undefined;
  };
  const settle = (): void => {
    if (healthySince !== undefined && clock.monotonic() - healthySince >= resetAfter) restart();
  };
  const compute = (): number => {
    if (jitter === "decorrelated") {
      if (base >= limit) return limit;
      // 3·previous may overflow near the largest double, and 0·Infinity is NaN.
      const high = Math.min(3 * previous, Number.MAX_VALUE);
      return Math.min(limit, base + draw(random) * (high - base));
    }
    const delay = backoff(base, limit, attempt, growth);
    if (jitter === "none") return delay;
    const r = draw(random);
    if (jitter === "nomad") return Math.min(delay + r * base, Number.MAX_VALUE);
    return jitter === "full" ? r * delay : delay * (0.5 + r / 2);
  };
  const peek = (): number => {
    settle();
    return (peeked ??= compute());
  };

  return {
    next() {
      const delay = peek();
      peeked = healthySince = undefined;
      previous = delay;
      if (attempt < Number.MAX_SAFE_INTEGER) attempt++;
      return delay;
    },
    peek,
    reset: restart,
    get attempt() {
      settle();
      return attempt;
    },
    limit,
    markHealthy() {
      healthySince ??= clock.monotonic();
    },
    markFailed() {
      settle();
      healthySince = undefined;
    },
  };
}
