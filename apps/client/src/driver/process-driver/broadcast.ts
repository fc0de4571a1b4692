/** Events for everybody who listens now. */
import { onAbort } from "@outrider/backoff";

/** Events that a slow listener may fall behind before the oldest are dropped for it. */
const MAX_BEHIND = 1_000;

/** Sends each value to all open streams. */
export class Broadcast<T> {
  readonly #listeners = new Set<(value: T) => void>();

  send(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }

  /** Values from now on, until the signal aborts; then the stream ends. */
  async *stream(signal: AbortSignal): AsyncGenerator<T> {
    const waiting: T[] = [];
    let wake: (() => void) | undefined;
    const listener = (value: T): void => {
      if (waiting.length >= MAX_BEHIND) waiting.shift();
      waiting.push(value);
      wake?.();
    };
    this.#listeners.add(listener);
    const forget = onAbort(signal, () => wake?.());
    try {
      while (!signal.aborted) {
        const value = waiting.shift();
        if (value === undefined) await new Promise<void>((resolve) => (wake = resolve));
        else yield value;
      }
    } finally {
      forget();
      this.#listeners.delete(listener);
    }
  }
}
