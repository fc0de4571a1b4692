/** Events of the driver for whoever listens: an agent shows them among a task's own. */
import type { DriverTaskEvent } from "@outrider/plugin-driver";

/** One feed. */
export interface EventFeed {
  emit(event: DriverTaskEvent): void;
  stream(signal: AbortSignal): AsyncIterable<DriverTaskEvent>;
}

/** Events wait for a slow listener up to this number; the oldest go first. */
const MAX_WAITING = 1000;

/** Makes a feed. Nothing is kept for listeners that come later. */
export function createEventFeed(): EventFeed {
  const listeners = new Set<(event: DriverTaskEvent) => void>();
  return {
    emit: (event) => {
      for (const listener of listeners) listener(event);
    },
    async *stream(signal) {
      const waiting: DriverTaskEvent[] = [];
      let wake: () => void = () => undefined;
      const listener = (event: DriverTaskEvent): void => {
        waiting.push(event);
        if (waiting.length > MAX_WAITING) waiting.shift();
        wake();
      };
      const onAbort = (): void => wake();
      listeners.add(listener);
      signal.addEventListener("abort", onAbort);
      try {
        while (!signal.aborted) {
          const event = waiting.shift();
          if (event !== undefined) yield event;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        listeners.delete(listener);
        signal.removeEventListener("abort", onAbort);
      }
    },
  };
}
