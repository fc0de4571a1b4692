/** Streams that must outlive whatever the driver does: a stock agent reopens a closed one a thousand times a second. */
import { createBackoff, sleep, type Clock } from "@outrider/backoff";

/** Options of {@link holdOpen}. */
export interface HoldOptions<T> {
  readonly open: (signal: AbortSignal) => AsyncIterable<T>;
  readonly write: (item: T) => Promise<void>;
  /** What the driver threw; the stream stays open. */
  readonly onFailure: (reason: unknown) => Promise<void>;
  /** How long after a normal end the driver is asked again. */
  readonly reopenMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

const BASE_MS = 5_000;
const LIMIT_MS = 120_000;

/** Relays a driver's stream until the host goes; an end or a failure of the driver only leads to asking it again. */
export async function holdOpen<T>(o: HoldOptions<T>): Promise<void> {
  const { signal, clock } = o;
  const delay = createBackoff({ base: BASE_MS, limit: LIMIT_MS });
  while (!signal.aborted) {
    let waitMs = o.reopenMs;
    try {
      for await (const item of o.open(signal)) {
        delay.reset();
        await o.write(item);
        if (signal.aborted) return;
      }
    } catch (reason) {
      if (signal.aborted) return;
      waitMs = delay.next();
      await o.onFailure(reason);
    }
    try {
      await sleep(waitMs, { signal, clock, ref: false });
    } catch {
      return; // the host has gone, which is how this ends
    }
  }
}
