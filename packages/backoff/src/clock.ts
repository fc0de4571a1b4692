import { BackoffRangeError } from "./backoff-error.ts";

/**
 * Where time comes from. Structural on purpose: any object with these four functions fits.
 * @public
 */
export interface Clock {
  /** Wall clock, epoch ms. May jump either way. */
  now(): number;
  /** Milliseconds that never go back; only differences mean something. */
  monotonic(): number;
  /** Calls `fn` once after `ms`. The handle may have `unref()`. */
  setTimeout(fn: () => void, ms: number): unknown;
  /** Forgets a timer; unknown and finished handles are ignored. */
  clearTimeout(handle: unknown): void;
}

/** The longest delay that a JavaScript timer keeps (24.8 days); Node fires anything longer after 1 ms. @public */
export const MAX_TIMER_MS = 2_147_483_647;

/**
 * A timer of any length over a `set` function that is only good up to {@link MAX_TIMER_MS}.
 * Rounds up, so that it never fires early.
 * @internal
 */
export class LongTimer {
  handle: unknown;
  #ref: boolean;

  constructor(set: (fn: () => void, ms: number) => unknown, fn: () => void, ms: number, ref: boolean) {
    this.#ref = ref;
    const arm = (left: number): void => {
      const slice = Math.min(left, MAX_TIMER_MS);
      this.handle = set(() => (left > slice ? arm(left - slice) : fn()), slice);
      if (!this.#ref) this.unref();
    };
    arm(Math.max(0, Math.ceil(ms)));
  }

  unref(): this {
    this.#ref = false;
    (this.handle as { unref?: () => void } | undefined)?.unref?.();
    return this;
  }
}

/** Refuses what no timer can wait for. */
export function checkWait(field: string, ms: number): void {
  if (!(typeof ms === "number" && Math.abs(ms) <= Number.MAX_SAFE_INTEGER)) {
    throw new BackoffRangeError(field, ms, "a finite number of ms");
  }
}

/**
 * The real clock. Timer functions and `Date` are looked up at each call, so fake timers that a test runner installs later
 * work. Waits beyond 24.8 days are split; NaN and Infinity throw a {@link BackoffRangeError} instead of firing after 1 ms.
 * @public
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout(fn, ms) {
    checkWait("ms", ms);
    if (ms <= MAX_TIMER_MS) return globalThis.setTimeout(fn, Math.ceil(ms));
    return new LongTimer((f, slice) => globalThis.setTimeout(f, slice), fn, ms, true);
  },
  clearTimeout(handle) {
    globalThis.clearTimeout((handle instanceof LongTimer ? handle.handle : handle) as never);
  },
};
