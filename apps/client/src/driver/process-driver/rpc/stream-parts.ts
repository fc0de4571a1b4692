/** Both ends of a stream of values: a sender that waits for credit, and a reader that gives it. */
import { WINDOW } from "./frame-wire.ts";

/** How many values may still be sent. */
export class Credit {
  #left = WINDOW;
  #wake: (() => void) | undefined;

  /** The other side has read so many. */
  add(count: number): void {
    this.#left += count;
    this.#wake?.();
  }

  /** Resolves when one more may be sent, or at once when the signal has aborted. */
  async take(signal: AbortSignal): Promise<void> {
    while (this.#left <= 0 && !signal.aborted) {
      const stop = new AbortController();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true, signal: stop.signal });
      });
      stop.abort();
    }
    this.#left--;
  }
}

/** Values that came, for one reader. `return()` settles at once, also while `next()` waits. */
export class Inbox<T> implements AsyncIterableIterator<T, undefined> {
  readonly #giveCredit: (count: number) => void;
  readonly #onLeave: () => void;
  #values: T[] = [];
  #taken = 0;
  #end: { readonly failure?: unknown } | undefined;
  #waiting: { resolve(result: IteratorResult<T, undefined>): void; reject(reason: unknown): void } | undefined;

  /** `onLeave` is called when the reader goes before the end. */
  constructor(giveCredit: (count: number) => void, onLeave: () => void) {
    this.#giveCredit = giveCredit;
    this.#onLeave = onLeave;
  }

  push(value: T): void {
    if (this.#end !== undefined) return;
    this.#values.push(value);
    this.#serve();
  }

  /** After the values that wait. Only the first end counts. */
  end(): void {
    this.#end ??= {};
    this.#serve();
  }

  /** After the values that wait. */
  fail(failure: unknown): void {
    this.#end ??= { failure };
    this.#serve();
  }

  /** At once: values that wait are dropped. */
  abort(failure: unknown): void {
    this.#values = [];
    this.fail(failure);
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#serve();
    });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    const early = this.#end === undefined;
    this.#values = [];
    this.#end = {};
    if (early) this.#onLeave();
    this.#serve();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #serve(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const [value] = this.#values;
    if (this.#values.length > 0) {
      this.#values.shift();
      this.#waiting = undefined;
      if (++this.#taken >= WINDOW / 2) {
        this.#giveCredit(this.#taken);
        this.#taken = 0;
      }
      waiting.resolve({ done: false, value: value as T });
    } else if (this.#end !== undefined) {
      const end = this.#end;
      // a failure is told once
      this.#end = {};
      this.#waiting = undefined;
      if ("failure" in end) waiting.reject(end.failure);
      else waiting.resolve({ done: true, value: undefined });
    }
  }
}
