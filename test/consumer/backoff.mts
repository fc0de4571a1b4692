// A program of a stranger that uses the packed package: compiled with its types and run, as ESM and as CommonJS.
import {
  attempts,
  backoff,
  createBackoff,
  isRecoverableError,
  retry,
  RetryExhaustedError,
  sleep,
  systemClock,
  UnrecoverableError,
  type Backoff,
  type Clock,
  type RetryOptions,
} from "@outrider/backoff";
import { ManualClock } from "@outrider/backoff/testing";
import { equal, exact, rejects } from "./assert.mjs";

export async function backoffUser(): Promise<void> {
  exact<number>()(backoff(1000, 60_000, 2n ** 64n));
  const waits: Backoff = createBackoff({ base: 1, limit: 8, jitter: "full", random: () => 0.5 });
  equal(waits.next(), 0.5);
  const clock: Clock = new ManualClock();
  const options: RetryOptions = { base: 1, limit: 2, maxAttempts: 2, isRecoverable: (e: unknown) => e !== undefined };
  exact<string>()(await retry(({ attempt }) => `done at ${attempt}`, { base: 1, limit: 1, clock }));
  const error = await rejects(retry(() => Promise.reject(new Error("down")), options));
  equal(error instanceof RetryExhaustedError && error.attempts, 2);
  equal(isRecoverableError(new Error("x", { cause: new UnrecoverableError("no") })), false);
  for await (const { attempt, delay } of attempts({ base: 1, limit: 1, maxAttempts: 1 })) equal(attempt + delay, 0);
  await sleep(1, { clock: systemClock, signal: new AbortController().signal });
  // @ts-expect-error a backoff without a limit is refused by the compiler
  await rejects(retry(() => 1, { base: 1 }));
  // @ts-expect-error so is a word that is no jitter
  await rejects(Promise.resolve().then(() => createBackoff({ base: 1, limit: 2, jitter: "some" })));
}
