import type { TableName } from "./tables.ts";
import type { ServerEvent } from "./tx.ts";

/** One committed change for the event stream. */
export interface EventBatch {
  readonly index: number;
  readonly events: readonly ServerEvent[];
}

/** How many changes the event stream can look back. */
export const EVENT_BUFFER = 100;

/** Tells waiting queries and event streams of committed changes. */
export class ChangeFeed {
  readonly #waiting = new Set<{ readonly tables: ReadonlySet<TableName>; readonly wake: () => void }>();
  readonly #listeners = new Set<(batch: EventBatch) => void>();
  #buffer: EventBatch[] = [];

  /** Number of queries that wait now. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves true at the next change of one of the tables, false when the signal aborts. */
  next(tables: readonly TableName[], signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const entry = {
        tables: new Set(tables),
        wake: () => {
          this.#waiting.delete(entry);
          signal.removeEventListener("abort", onAbort);
          resolve(true);
        },
      };
      const onAbort = (): void => {
        this.#waiting.delete(entry);
        resolve(false);
      };
      this.#waiting.add(entry);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Changes since an index that are still remembered, and from now on each new one. */
  subscribe(sinceIndex: number, listener: (batch: EventBatch) => void): Disposable {
    for (const batch of this.#buffer) if (batch.index >= sinceIndex) listener(batch);
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  publish(tables: readonly TableName[], events: readonly ServerEvent[], index: number): void {
    if (events.length > 0) {
      const batch = { index, events };
      this.#buffer.push(batch);
      if (this.#buffer.length > EVENT_BUFFER) this.#buffer = this.#buffer.slice(-EVENT_BUFFER);
      for (const listener of this.#listeners) listener(batch);
    }
    for (const entry of this.#waiting) {
      if (tables.some((table) => entry.tables.has(table))) entry.wake();
    }
  }
}
