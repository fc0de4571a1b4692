import { type Clock, checkWait, LongTimer, MAX_TIMER_MS, systemClock } from "./clock.ts";
import { onAbort } from "./on-abort.ts";

/** Options of everything that waits. @public */
export interface WaitOptions {
  /** Cuts the wait short: the promise rejects with `signal.reason` itself. */
  readonly signal?: AbortSignal | undefined;
  /** False lets the process end while this wait is pending. Default true. */
  readonly ref?: boolean | undefined;
  /** Default {@link systemClock}. */
  readonly clock?: Clock | undefined;
}

/**
 * Waits `ms` milliseconds: never early, also beyond 24.8 days, up to `Number.MAX_SAFE_INTEGER`. Zero and negative values
 * still yield to the timer queue, so a loop of sleeps cannot starve the process.
 * Rejects with the reason of the signal, or with a {@link BackoffRangeError} for NaN and Infinity.
 * @public
 */
export function sleep(ms: number, options: WaitOptions = {}): Promise<void> {
  const { signal, ref = true, clock = systemClock } = options;
  return new Promise((resolve, reject) => {
    checkWait("ms", ms);
    if (signal?.aborted) throw signal.reason;
    let forget: (() => void) | undefined;
    const timer = startTimer(clock, ms, ref, () => {
      forget?.();
      resolve();
    });
    if (signal) {
      forget = onAbort(signal, () => {
        timer();
        reject(signal.reason as Error);
      });
    }
  });
}

/**
 * Starts one timer of any length; the answer cancels it.
 * @internal
 */
export function startTimer(clock: Clock, ms: number, ref: boolean, fn: () => void): () => void {
  if (ms > MAX_TIMER_MS) {
    const timer = new LongTimer((f, slice) => clock.setTimeout(f, slice), fn, ms, ref);
    return () => clock.clearTimeout(timer.handle);
  }
  const handle = clock.setTimeout(fn, Math.max(0, Math.ceil(ms)));
  if (!ref) (handle as { unref?: () => void } | undefined)?.unref?.();
  return () => clock.clearTimeout(handle);
}
