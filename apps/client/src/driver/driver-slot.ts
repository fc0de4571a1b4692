/** The one living instance of a driver, opened when somebody needs it. */
import { type Backoff, type Clock, createBackoff, onAbort, sleep } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { DriverInstance } from "./driver-manager.ts";
import type { DriverSource, OpenedDriver } from "./driver-source.ts";

/** Delays between failed attempts to open a driver. */
const OPEN_BASE_MS = 100;
const OPEN_LIMIT_MS = 5_000;
/** An instance that lived this long ends the counting of failures. */
const HEALTHY_MS = 1_000;

/** Options of a slot. */
export interface DriverSlotOptions {
  readonly source: DriverSource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
}

interface Live extends DriverInstance {
  readonly opened: OpenedDriver;
}

/**
 * Thirty callers at once make one attempt, and failures are spaced out: a driver that cannot start is no storm of processes. A caller learns
 * of the attempt it took part in; the delay comes before the next attempt.
 */
export class DriverSlot {
  readonly #options: DriverSlotOptions;
  readonly #waits: Backoff;
  readonly #closing = new AbortController();
  #generation = 0;
  #live: Live | undefined;
  #attempt: Promise<Live> | undefined;
  #failed = false;

  constructor(options: DriverSlotOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#waits = createBackoff({
      base: OPEN_BASE_MS,
      limit: OPEN_LIMIT_MS,
      jitter: "equal",
      resetAfter: HEALTHY_MS,
      clock,
      random,
    });
  }

  get name(): string {
    return this.#options.source.name;
  }

  /** A living instance of a generation above `newerThan`. */
  async get(signal: AbortSignal, newerThan = 0): Promise<DriverInstance> {
    for (;;) {
      signal.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      const live = this.#live;
      if (live !== undefined && live.generation > newerThan) return live;
      // the caller saw it fail: its end is about to be noticed here as well
      if (live === undefined) await settleOr(this.#open(), signal);
      else await settleOr(live.gone, signal);
    }
  }

  /** Lets go of the instance; later calls reject. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("driver manager is closed"));
    await this.#attempt?.catch(() => undefined);
    await this.#live?.opened.close();
  }

  #open(): Promise<Live> {
    this.#attempt ??= this.#try().finally(() => (this.#attempt = undefined));
    return this.#attempt;
  }

  async #try(): Promise<Live> {
    const { source, clock, logger } = this.#options;
    const { signal } = this.#closing;
    if (this.#failed) await sleep(this.#waits.next(), { clock, signal });
    let opened: OpenedDriver;
    try {
      opened = await source.open(signal);
    } catch (reason) {
      this.#failed = true;
      throw reason;
    }
    const live: Live = {
      name: source.name,
      generation: ++this.#generation,
      plugin: opened.plugin,
      gone: opened.gone,
      opened,
    };
    this.#live = live;
    this.#waits.markHealthy();
    logger.debug({ driver: source.name, generation: live.generation }, "driver answers");
    void opened.gone.then(() => {
      this.#waits.markFailed();
      // the first new start is free: it is the normal way after a kill
      this.#failed = this.#waits.attempt > 0;
      if (this.#live === live) this.#live = undefined;
      if (!signal.aborted) logger.warn({ driver: source.name, generation: live.generation }, "driver process is gone");
      return opened.close();
    });
    return live;
  }
}

/** Waits for a promise; an aborted signal ends the wait with its reason. */
function settleOr(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => reject(signal.reason as Error));
    promise.then(
      () => {
        forget();
        resolve();
      },
      (reason: unknown) => {
        forget();
        reject(reason as Error);
      },
    );
  });
}
