import { systemClock } from "./clock.ts";
import { createBackoff } from "./create-backoff.ts";
import { onAbort } from "./on-abort.ts";
import { type BackoffSource, type EffortLimits, effortLimits } from "./retry.ts";
import { startTimer, type WaitOptions } from "./sleep.ts";

/** One turn of {@link attempts}. @public */
export interface Attempt {
  /** 0 for the first turn. */
  readonly attempt: number;
  /** The wait in ms that preceded this turn; 0 for the first. */
  readonly delay: number;
}

/** Options of {@link attempts}. @public */
export type AttemptsOptions = BackoffSource & EffortLimits & WaitOptions;

/**
 * The loop form of a backoff: `for await (const { attempt } of attempts({ base, limit, signal })) { … break on success … }`.
 * The first turn comes at once, each later one after its wait. The loop ends normally when `maxAttempts` or `maxElapsed` is
 * used up, throws `signal.reason` on abort, and leaves no timer behind when it is left early.
 * @public
 */
export function attempts(options: AttemptsOptions): AsyncIterableIterator<Attempt, undefined> {
  const { maxAttempts, maxElapsed } = effortLimits(options);
  const waits = "backoff" in options ? options.backoff : createBackoff(options);
  const { signal, ref = true, clock = systemClock } = options;
  const end = { done: true, value: undefined } as const;
  let began = 0;
  let count = 0;
  let finished = false;
  /** Ends the wait in progress, if there is one. */
  let release: (() => void) | undefined;
  let tail: Promise<unknown> | undefined;

  const step = async (): Promise<IteratorResult<Attempt, undefined>> => {
    if (finished) return end;
    if (signal?.aborted) {
      finished = true;
      throw signal.reason;
    }
    const attempt = count++;
    if (attempt === 0) {
      began = clock.monotonic();
      return { done: false, value: { attempt, delay: 0 } };
    }
    const delay = waits.next();
    if (attempt >= maxAttempts || clock.monotonic() - began + delay > maxElapsed) finished = true;
    else {
      await new Promise<void>((resolve) => {
        const cancel = startTimer(clock, delay, ref, () => release?.());
        const forget = signal && onAbort(signal, () => release?.());
        release = () => {
          cancel();
          forget?.();
          release = undefined;
          resolve();
        };
      });
      if (signal?.aborted) {
        finished = true;
        throw signal.reason;
      }
    }
    return finished ? end : { done: false, value: { attempt, delay } };
  };

  return {
    next() {
      // Calls that overlap are answered one after the other.
      const answer = tail === undefined ? step() : tail.then(step, step);
      tail = answer;
      answer.catch(() => {});
      return answer;
    },
    return() {
      finished = true;
      release?.();
      return Promise.resolve(end);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
