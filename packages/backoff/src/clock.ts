import { checkWait } from "./check.ts";

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

/** A timer that may be re-armed several times until it fires. @internal */
export interface LongTimer {
  /** The timer that runs at present. */
  longTimer: unknown;
  unref(): LongTimer;
}

/**
 * A timer of any length over a `set` function that is only good up to {@link MAX_TIMER_MS}.
 * Rounds up, so that it never fires early.
 * @internal
 */
export function startLongTimer(
  set: (fn: () => void, ms: number) => unknown,
  fn: () => void,
  ms: number,
  ref: boolean,
): LongTimer {
  const timer: LongTimer = {
    longTimer: undefined,
    unref() {
      ref = false;
      (timer.longTimer as { unref?: () => void } | undefined)?.unref?.();
      return timer;
    },
  };
  const arm = (left: number): void => {
    const slice = Math.min(left, MAX_TIMER_MS);
    timer.longTimer = set(() => (left > slice ? arm(left - slice) : fn()), slice);
    if (!ref) timer.unref();
  };
  arm(Math.max(0, Math.ceil(ms)));
  return timer;
}

/**
 * The real clock. Timer functions and `Date` are looked up at each call, so fake timers that a test runner installs later
 * work. Waits beyond 24.8 days are split; NaN and Infinity throw a {@link BackoffRangeError} instead of firing after 1 ms.
 * @public
 */
export const systemClock: Clock = {
  // oxlint-disable-next-line no-restricted-properties -- the one place that reads the wall clock
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout(fn, ms) {
    checkWait("ms", ms);
    const set = (f: () => void, slice: number): unknown => globalThis.setTimeout(f, slice);
    return ms > MAX_TIMER_MS ? startLongTimer(set, fn, ms, true) : set(fn, Math.ceil(ms));
  },
  clearTimeout(handle) {
    globalThis.clearTimeout(((handle as LongTimer | undefined)?.longTimer ?? handle) as never);
  },
};
