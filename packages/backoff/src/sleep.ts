import { checkWait } from "./check.ts";
import { type Clock, type LongTimer, startLongTimer, systemClock } from "./clock.ts";
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
    signal?.throwIfAborted();
    const timer: LongTimer = { ref };
    let forget: (() => void) | undefined;
    // No named function here: development loaders make those costly.
    startLongTimer(
      clock,
      () => {
        forget?.();
        resolve();
      },
      Math.max(0, Math.ceil(ms)),
      timer,
    );
    if (signal) {
      forget = onAbort(signal, () => {
        clock.clearTimeout(timer.longTimer);
        reject(signal.reason as Error);
      });
    }
  });
}
