import { chainOf, isFinal, rangeError, RetryExhaustedError } from "./backoff-error.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type Backoff, type BackoffOptions, createBackoff } from "./create-backoff.ts";
import { onAbort } from "./on-abort.ts";
import { sleep, type WaitOptions } from "./sleep.ts";

/** Either the numbers of a backoff, or a backoff that the caller keeps (for example over several calls). @public */
export type BackoffSource = BackoffOptions | { readonly backoff: Backoff };

/** When an effort ends. @public */
export interface EffortLimits {
  /** Calls in all, the first included; an integer ≥ 1 or Infinity. Default Infinity. */
  readonly maxAttempts?: number | undefined;
  /** Ms since the first call; a wait that would end later is not started. Default Infinity. */
  readonly maxElapsed?: number | undefined;
}

/** What a retried function is told. @public */
export interface RetryContext {
  /** 0 for the first call. */
  readonly attempt: number;
  /** The signal of the caller, or one that never aborts. */
  readonly signal: AbortSignal;
  /** What the previous call threw. */
  readonly lastError: unknown;
}

/** What `onRetry` is told, before the wait. @public */
export interface RetryEvent {
  /** Number of the call that failed, from 0. */
  readonly attempt: number;
  /** The wait that follows, ms. */
  readonly delay: number;
  /** What the call threw. */
  readonly error: unknown;
  /** Ms since the first call. */
  readonly elapsed: number;
}

/** Options of {@link retry}. @public */
export type RetryOptions = BackoffSource &
  EffortLimits &
  WaitOptions & {
    /** False ends the effort with this error. Asked only if the error is not marked unrecoverable already. */
    readonly isRecoverable?: ((error: unknown) => boolean) | undefined;
    /** Called before each wait. If it throws (or rejects), so does `retry`. */
    readonly onRetry?: ((event: RetryEvent) => void | Promise<void>) | undefined;
    /** True lets `retryAfterMs` of an error exceed `limit`. Default false. */
    readonly respectServer?: boolean | undefined;
  };

/** The options of an effort, checked before the first call. */
export interface Effort {
  readonly maxAttempts: number;
  readonly maxElapsed: number;
  readonly waits: Backoff;
  readonly clock: Clock;
}

/** Reads the options that `retry` and `attempts` have in common. */
export function effortOf(options: BackoffSource & EffortLimits & WaitOptions): Effort {
  const { maxAttempts = Infinity, maxElapsed = Infinity, clock = systemClock } = options;
  // Infinity % 1 is NaN, which passes.
  if (!(maxAttempts >= 1) || maxAttempts % 1 > 0) {
    throw rangeError("maxAttempts", maxAttempts, "an integer >= 1");
  }
  if (!(maxElapsed >= 0)) throw rangeError("maxElapsed", maxElapsed, ">= 0");
  return {
    maxAttempts,
    maxElapsed,
    clock,
    waits: "backoff" in options ? options.backoff : createBackoff(options),
  };
}

/**
 * Calls `fn` until it succeeds. The first call is immediate; before every later one there is a wait of the backoff.
 *
 * Stops at once, with that very error, when the error or one of its causes has `recoverable === false`, or when
 * `isRecoverable` says so. Stops with {@link RetryExhaustedError} at `maxAttempts` or `maxElapsed`. On abort it rejects
 * with `signal.reason` itself, even while a call is running (that call's result is dropped; it has the same signal).
 * An error with a number `retryAfterMs` lengthens the next wait. Endless retrying is normal use: memory stays constant.
 * @public
 */
export async function retry<T>(fn: (context: RetryContext) => T | Promise<T>, options: RetryOptions): Promise<T> {
  const { maxAttempts, maxElapsed, clock, waits } = effortOf(options);
  const signal = options.signal ?? new AbortController().signal;
  const began = clock.monotonic();
  let lastError: unknown;
  for (let attempt = 0; ; attempt++) {
    options.signal?.throwIfAborted();
    try {
      const result = fn({ attempt, signal, lastError });
      return await (options.signal ? unlessAborted(result, options.signal) : result);
    } catch (error) {
      lastError = error;
    }
    options.signal?.throwIfAborted();
    const chain = chainOf(lastError);
    if (chain.some(isFinal) || options.isRecoverable?.(lastError) === false) throw lastError;
    const elapsed = clock.monotonic() - began;
    // What a server asked for: between 0 and the limit.
    const asked = Math.min(
      (chain.find((e) => (e.retryAfterMs as number) > 0)?.retryAfterMs as number | undefined) ?? 0,
      options.respectServer ? Number.MAX_SAFE_INTEGER : waits.limit,
    );
    const delay = Math.max(waits.next(), asked);
    if (attempt + 1 >= maxAttempts || elapsed + delay > maxElapsed)
      throw new RetryExhaustedError(attempt + 1, elapsed, lastError);
    if (options.onRetry) await options.onRetry({ attempt, delay, error: lastError, elapsed });
    await sleep(delay, options);
  }
}

/** Follows `result`, but rejects with the reason as soon as the signal aborts. */
function unlessAborted<T>(result: T | Promise<T>, signal: AbortSignal): Promise<T> {
  let forget: (() => void) | undefined;
  return new Promise<T>((resolve, reject) => {
    forget = onAbort(signal, () => reject(signal.reason as Error));
    Promise.resolve(result).then(resolve, reject);
  }).finally(forget);
}
