import type { Clock } from "@outrider/backoff";
import { RELEASE_TIMEOUT_MS, type StatsFn, type StatsSink, type StatsSource, type SubscribeFn } from "./options.ts";

/** One open (or opening) stream of a source in either form. @internal */
export interface Stream {
  /** Ends it; resolves when the source has let go, or after a second if it does not. Never rejects. */
  release(): Promise<void>;
}

/** What a stream reports; nothing after `release` or `end`. @internal */
export interface StreamEvents<S> {
  /** Gives a promise when the next sample must wait. */
  sample(sample: S): Promise<unknown> | undefined;
  end(failed: boolean, reason: unknown): void;
}

/** Opens a source. Failures to open come as `end(true, …)`. @internal */
export function openStream<S>(
  source: StatsSource<S>,
  intervalMs: number,
  events: StreamEvents<S>,
  clock: Clock,
): Stream {
  if (source.subscribe === undefined) return new PulledStream(source.stats, intervalMs, events, clock);
  return new PushedStream(source.subscribe, intervalMs, events);
}

class PulledStream<S> implements Stream {
  readonly #abort = new AbortController();
  readonly #events: StreamEvents<S>;
  readonly #clock: Clock;
  #iterator: AsyncIterator<S> | undefined;
  #over = false;

  constructor(open: StatsFn<S>, intervalMs: number, events: StreamEvents<S>, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
    // In a promise from the start, so that a source that throws at once reports like all others: later.
    new Promise<AsyncIterable<S>>((resolve) => resolve(open(this.#abort.signal, intervalMs))).then(
      (iterable) => this.#iterate(iterable),
      (error: unknown) => this.#end(true, error),
    );
  }

  release(): Promise<void> {
    const iterator = this.#close();
    this.#abort.abort(notWanted());
    if (iterator?.return === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.setTimeout(resolve, RELEASE_TIMEOUT_MS);
      // A hung source must not keep the process alive.
      (timer as { unref?: () => void } | undefined)?.unref?.();
      const done = (): void => {
        this.#clock.clearTimeout(timer);
        resolve();
      };
      returnQuietly(iterator).then(done, done);
    });
  }

  #iterate(iterable: AsyncIterable<S>): void {
    if (this.#over) {
      // Opened after nobody wanted it any more.
      try {
        void iterable[Symbol.asyncIterator]()
          .return?.()
          .then(undefined, () => undefined);
      } catch {
        // The source is broken and unwanted.
      }
      return;
    }
    try {
      this.#iterator = iterable[Symbol.asyncIterator]();
    } catch (error) {
      return this.#end(true, error);
    }
    this.#pull();
  }

  readonly #pull = (): void => {
    if (this.#over) return;
    try {
      this.#iterator?.next().then(this.#step, this.#fail);
    } catch (error) {
      this.#end(true, error);
    }
  };

  readonly #step = (result: IteratorResult<S, unknown>): void => {
    if (this.#over) return;
    if (result.done === true) return this.#end(false, undefined);
    const pause = this.#events.sample(result.value);
    if (pause === undefined) this.#pull();
    else void pause.then(this.#pull);
  };

  readonly #fail = (error: unknown): void => this.#end(true, error);

  #end(failed: boolean, reason: unknown): void {
    if (this.#over) return;
    this.#close();
    // Whatever the source still holds by this signal is released as well.
    this.#abort.abort(notWanted());
    this.#events.end(failed, reason);
  }

  #close(): AsyncIterator<S> | undefined {
    const iterator = this.#iterator;
    this.#iterator = undefined;
    this.#over = true;
    return iterator;
  }
}

async function returnQuietly(iterator: AsyncIterator<unknown>): Promise<void> {
  await iterator.return?.();
}

/** One reason for all: making an exception costs more than aborting. */
let reason: DOMException | undefined;
function notWanted(): DOMException {
  return (reason ??= new DOMException("stats are no longer wanted", "AbortError"));
}

class PushedStream<S> implements Stream, StatsSink<S> {
  readonly #events: StreamEvents<S>;
  #stop: (() => void) | undefined;
  #over = false;

  constructor(subscribe: SubscribeFn<S>, intervalMs: number, events: StreamEvents<S>) {
    this.#events = events;
    let opened: ReturnType<SubscribeFn<S>>;
    try {
      opened = subscribe(this, intervalMs);
    } catch (error) {
      void Promise.resolve().then(() => this.#end(true, error));
      return;
    }
    if (typeof opened === "function") this.#opened(opened);
    else {
      opened.then(
        (stop) => this.#opened(stop),
        (error: unknown) => this.#end(true, error),
      );
    }
  }

  next(sample: S): void {
    if (!this.#over) void this.#events.sample(sample);
  }

  end(reason?: unknown): void {
    this.#end(reason !== undefined, reason);
  }

  release(): Promise<void> {
    this.#over = true;
    this.#callStop();
    return Promise.resolve();
  }

  #opened(stop: () => void): void {
    this.#stop = stop;
    if (this.#over) this.#callStop();
  }

  #end(failed: boolean, reason: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#callStop();
    this.#events.end(failed, reason);
  }

  #callStop(): void {
    const stop = this.#stop;
    this.#stop = undefined;
    try {
      stop?.();
    } catch {
      // The stream is over either way.
    }
  }
}
