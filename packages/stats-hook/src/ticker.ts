import { systemClock, type Clock } from "@outrider/backoff";
import { OutriderError } from "@outrider/foundation";
import { MIN_INTERVAL_MS } from "./options.ts";
import { TickerWheel, type TickerJob } from "./ticker-wheel.ts";

/** Up to this interval the first call comes with the rhythm; with a longer one it comes at once, ms. */
const FIRST_CALL_WITHIN_MS = 1000;

/** A shared timer for thousands of periodic jobs. @public */
export interface Ticker extends Disposable {
  /**
   * Calls `job` once every `intervalMs`, at a phase that depends on the key only, so that many jobs spread over the interval. First within one
   * interval or a second, whichever is shorter. A job that takes long should return true now and then: it goes on in the next turn of the
   * event loop. Jobs must not throw. Gives the function that ends the calls.
   */
  every(intervalMs: number, key: string, job: TickerJob): () => void;
}

/** Makes a ticker: one timer per interval in use, none when there is no job. @public */
export function createTicker(options: { readonly clock?: Clock | undefined } = {}): Ticker {
  const clock = options.clock ?? systemClock;
  const wheels = new Map<number, TickerWheel>();
  return {
    every(intervalMs, key, job) {
      if (!(intervalMs >= MIN_INTERVAL_MS && intervalMs <= Number.MAX_SAFE_INTEGER)) {
        const text = `ticker: intervalMs must be a number of ms >= ${MIN_INTERVAL_MS}, got ${JSON.stringify(String(intervalMs))}`;
        throw new OutriderError("ERR_OUTRIDER_STATS_OPTION", text, {
          details: { field: "intervalMs", text: String(intervalMs) },
        });
      }
      const wheel = wheels.get(intervalMs) ?? new TickerWheel(clock, intervalMs);
      wheels.set(intervalMs, wheel);
      const remove = wheel.add(key, job, intervalMs > FIRST_CALL_WITHIN_MS);
      return () => {
        remove();
        if (wheel.empty && wheels.get(intervalMs) === wheel) wheels.delete(intervalMs);
      };
    },
    [Symbol.dispose]() {
      for (const wheel of wheels.values()) wheel.clear();
      wheels.clear();
    },
  };
}
