import { onAbort } from "./on-abort.ts";
import { type BackoffSource, type Effort, type EffortLimits, effortOf } from "./retry.ts";
import { sleep, type WaitOptions } from "./sleep.ts";

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
export function attempts(options: AttemptsOptions): AsyncGenerator<Attempt, undefined> {
  const stop = new AbortController();
  const turns = turnsOf(options, effortOf(options), stop);
  const end = turns.return.bind(turns);
  turns.return = (value) => {
    // The wait in progress, if there is one, ends now and not at its time.
    stop.abort(stop);
    return end(value);
  };
  return turns;
}

async function* turnsOf(
  { signal, ref }: WaitOptions,
  { maxAttempts, maxElapsed, clock, waits }: Effort,
  stop: AbortController,
): AsyncGenerator<Attempt, undefined> {
  const began = clock.monotonic();
  let delay = 0;
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    if (attempt > 0) {
      delay = waits.next();
      if (attempt >= maxAttempts || clock.monotonic() - began + delay > maxElapsed) return;
      const forget = signal && onAbort(signal, () => stop.abort(signal.reason));
      try {
        await sleep(delay, { signal: stop.signal, ref, clock });
      } catch (error) {
        if (error === stop) return;
        throw error;
      } finally {
        forget?.();
      }
    }
    yield { attempt, delay };
  }
}
