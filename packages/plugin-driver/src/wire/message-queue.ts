/** Turns a push source with pause and resume into an async iterator that can be left at any moment. */

/** What a queue does to its source. */
export interface QueueSource {
  pause(): void;
  resume(): void;
  /** The consumer has left: release the source. Called once, also after a normal end. */
  release(): void;
}

/** So many waiting messages pause the source; it resumes when they are taken. */
const HIGH_WATER = 16;

interface Waiting<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(reason: unknown): void;
}

/**
 * Messages in order, then the end or the failure. Unlike a generator, `return()` settles at once even while `next()` is
 * pending, which then resolves as done.
 */
export class MessageQueue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #source: QueueSource;
  #items: T[] = [];
  #waiting: Waiting<T>[] = [];
  #end: { readonly failure?: unknown } | undefined;
  #paused = false;
  #released = false;

  constructor(source: QueueSource) {
    this.#source = source;
  }

  push(item: T): void {
    if (this.#end !== undefined) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting.resolve({ done: false, value: item });
      return;
    }
    this.#items.push(item);
    if (!this.#paused && this.#items.length >= HIGH_WATER) {
      this.#paused = true;
      this.#source.pause();
    }
  }

  /** Ends after the messages that wait. Only the first end counts. */
  end(): void {
    this.#finish({});
  }

  /** Fails after the messages that wait; `now` drops them. */
  fail(failure: unknown, now = false): void {
    if (now) this.#items = [];
    this.#finish({ failure });
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const item = this.#items.shift();
    if (item !== undefined) {
      if (this.#paused && this.#items.length === 0) {
        this.#paused = false;
        this.#source.resume();
      }
      return Promise.resolve({ done: false, value: item });
    }
    const end = this.#end;
    if (end === undefined) return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    // A failure is told once; afterwards the iterator is simply over.
    this.#end = {};
    if ("failure" in end) return Promise.reject(end.failure as Error);
    return Promise.resolve({ done: true, value: undefined });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#items = [];
    this.#finish({});
    this.#end = {};
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #finish(end: { readonly failure?: unknown }): void {
    this.#release();
    if (this.#end !== undefined) return;
    this.#end = end;
    const [first, ...others] = this.#waiting;
    this.#waiting = [];
    if (first !== undefined) {
      this.#end = {};
      if ("failure" in end) first.reject(end.failure);
      else first.resolve({ done: true, value: undefined });
    }
    for (const waiting of others) waiting.resolve({ done: true, value: undefined });
  }

  #release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#source.release();
  }
}
