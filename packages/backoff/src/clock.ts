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

/** A wait that may need several timers. @internal */
export interface LongTimer {
  /** False: its timers do not keep the process alive. */
  ref: boolean;
  /** The timer that runs at present. */
  longTimer?: unknown;
}

/**
 * Starts a wait of any whole number of ms with timers that are only good up to {@link MAX_TIMER_MS}.
 * @internal
 */
export function startLongTimer(clock: Pick<Clock, "setTimeout">, fn: () => void, ms: number, timer: LongTimer): void {
  const left = ms - MAX_TIMER_MS;
  timer.longTimer = clock.setTimeout(
    left > 0 ? () => startLongTimer(clock, fn, left, timer) : fn,
    Math.min(ms, MAX_TIMER_MS),
  );
  if (!timer.ref) (timer.longTimer as { unref?: () => void } | undefined)?.unref?.();
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
    const whole = Math.ceil(ms);
    if (whole <= MAX_TIMER_MS) return globalThis.setTimeout(fn, whole);
    const timer: LongTimer & { unref(): unknown } = {
      ref: true,
      unref() {
        timer.ref = false;
        (timer.longTimer as { unref?: () => void } | undefined)?.unref?.();
        return timer;
      },
    };
    startLongTimer(globalThis, fn, whole, timer);
    return timer;
  },
  clearTimeout(handle) {
    globalThis.clearTimeout(((handle as LongTimer | undefined)?.longTimer ?? handle) as never);
  },
};
