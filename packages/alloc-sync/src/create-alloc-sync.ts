import { onAbort, sleep, staggered, systemClock, type Clock } from "@outrider/backoff";
import { noopLogger, type Logger } from "@outrider/foundation";
import { Buffer, type Entry } from "./buffer.ts";
import { badArgument, checkOptions } from "./check-options.ts";
import {
  DEFAULT_FLUSH_DEADLINE_MS,
  DEFAULT_RETRY_DELAY_MS,
  DEFAULT_TICK_MS,
  DEFAULT_TYPICAL_EVERY,
  type AllocSync,
  type AllocSyncOptions,
  type AllocSyncStats,
  type FlushOptions,
} from "./options.ts";

/**
 * Makes a buffer that keeps a server informed with few calls: urgent updates at the next tick, typical ones once a second, unchanged ones never.
 * Throws `ERR_OUTRIDER_SYNC_OPTION` for a bad option. @public
 */
export function createAllocSync<U, A>(options: AllocSyncOptions<U, A>): AllocSync<U, A> {
  checkOptions(options as AllocSyncOptions<unknown, unknown>);
  return new Sync(options);
}

class Sync<U, A> implements AllocSync<U, A> {
  readonly #options: AllocSyncOptions<U, A>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #tickMs: number;
  readonly #typicalEvery: number;
  readonly #buffer: Buffer<U, A>;
  readonly #stopper = new AbortController();
  #ready: boolean;
  #started = false;
  #timer: unknown;
  #ticks = 0;
  #sends = 0;
  #failures = 0;
  #delivered = 0;
  /** The delivery under way: it settles, never rejects. */
  #inFlight: Promise<void> | undefined;
  /** Ids whose owner went away while a send was under way. */
  readonly #forgotten = new Set<string>();

  constructor(options: AllocSyncOptions<U, A>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? noopLogger;
    this.#tickMs = options.tick ?? DEFAULT_TICK_MS;
    this.#typicalEvery = options.typicalEvery ?? DEFAULT_TYPICAL_EVERY;
    this.#buffer = new Buffer(options, this.#logger);
    this.#ready = options.ready === undefined;
    options.ready?.then(
      () => (this.#ready = true),
      (err: unknown) => this.#logger.error({ err }, "the ready gate failed, updates stay in the buffer"),
    );
  }

  push(update: U): void {
    const id = this.#options.id(update);
    if (typeof id !== "string" || id === "") throw badArgument("id", id, "a string that is not empty");
    this.#buffer.push(id, update);
  }

  acknowledge(id: string, ack: A): void {
    this.#buffer.acks.set(id, ack);
  }

  forget(id: string): void {
    this.#buffer.acks.delete(id);
    if (this.#inFlight !== undefined) this.#forgotten.add(id);
  }

  start(signal: AbortSignal): void {
    if (this.#started) throw badArgument("start", "a second call", "called once");
    this.#started = true;
    onAbort(signal, () => this.#stop(signal.reason));
    // A flush under way arms the first tick when it is done.
    if (this.#inFlight === undefined) this.#arm(this.#tickMs);
  }

  async flush(options: FlushOptions = {}): Promise<void> {
    const deadlineMs = options.deadlineMs ?? DEFAULT_FLUSH_DEADLINE_MS;
    if (!(deadlineMs >= 0 && deadlineMs <= Number.MAX_SAFE_INTEGER)) {
      throw badArgument("deadlineMs", deadlineMs, "a number of ms >= 0");
    }
    if (!this.#ready) return;
    const over = new AbortController();
    const done = new AbortController();
    const deadline = sleep(deadlineMs, { clock: this.#clock, signal: done.signal }).then(
      () => over.abort(new DOMException("the flush ran out of time", "TimeoutError")),
      () => undefined,
    );
    // A race, because a send that ignores its signal must not hold the caller.
    await Promise.race([deadline, this.#flushUntil(over.signal)]);
    done.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop(new DOMException("the sync was disposed", "AbortError"));
    await this.#inFlight;
  }

  get stats(): AllocSyncStats {
    const { pending, pushed, replaced, unchanged, returned } = this.#buffer;
    return {
      pending: pending.size,
      sending: this.#inFlight !== undefined,
      ready: this.#ready,
      ticks: this.#ticks,
      pushed,
      replaced,
      unchanged,
      sends: this.#sends,
      failures: this.#failures,
      delivered: this.#delivered,
      returned,
    };
  }

  #stop(reason: unknown): void {
    this.#disarm();
    this.#stopper.abort(reason);
  }

  #arm(ms: number): void {
    this.#disarm();
    if (!this.#started || this.#stopper.signal.aborted) return;
    this.#timer = this.#clock.setTimeout(() => this.#tick(), ms);
  }

  #disarm(): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    this.#ticks++;
    const batch = this.#ready ? this.#buffer.take(this.#ticks % this.#typicalEvery === 0) : [];
    if (batch.length === 0) this.#arm(this.#tickMs);
    else void this.#deliver(batch, this.#stopper.signal);
  }

  async #flushUntil(over: AbortSignal): Promise<void> {
    // A delivery under way may bring updates back or acknowledge them: take what is left after it.
    while (this.#inFlight !== undefined) await this.#inFlight;
    if (over.aborted) return;
    const batch = this.#buffer.take(true);
    if (batch.length > 0) await this.#deliver(batch, over);
  }

  #deliver(batch: ReadonlyArray<Entry<U>>, end: AbortSignal): Promise<void> {
    this.#disarm();
    this.#inFlight = this.#sendAndArm(batch, end);
    return this.#inFlight;
  }

  /** The next tick is armed when the server has answered, so that a slow server is called less, not more. */
  async #sendAndArm(batch: ReadonlyArray<Entry<U>>, end: AbortSignal): Promise<void> {
    const delay = await this.#send(batch, end);
    this.#inFlight = undefined;
    this.#forgotten.clear();
    this.#arm(delay);
  }

  /** Gives the wait until the next tick. */
  async #send(batch: ReadonlyArray<Entry<U>>, end: AbortSignal): Promise<number> {
    this.#sends++;
    const cancel = new AbortController();
    const stop = this.#stopper.signal;
    const unlinkEnd = onAbort(end, () => cancel.abort(end.reason));
    // A flush after the stop is still allowed: only a stop during the send ends it.
    const unlinkStop = stop.aborted ? () => undefined : onAbort(stop, () => cancel.abort(stop.reason));
    try {
      const updates = batch.map((entry) => entry.update);
      await this.#options.send(updates, { signal: cancel.signal });
    } catch (err) {
      this.#failures++;
      this.#buffer.giveBack(batch);
      this.#logger[cancel.signal.aborted ? "debug" : "error"]({ err, updates: batch.length }, "could not send updates");
      return this.#retryDelay();
    } finally {
      unlinkEnd();
      unlinkStop();
    }
    this.#delivered += batch.length;
    this.#ticks = 0;
    await this.#keepAcks(batch);
    return this.#tickMs;
  }

  async #keepAcks(batch: ReadonlyArray<Entry<U>>): Promise<void> {
    const acks = new Map<string, A>();
    for (const { id, update, owned } of batch) {
      if (!owned || this.#forgotten.has(id)) continue;
      try {
        acks.set(id, this.#options.toAck(update));
      } catch (err) {
        this.#logger.error({ err, id }, "could not make an acknowledgement, the update will be sent again");
      }
    }
    for (const [id, ack] of acks) this.#buffer.acks.set(id, ack);
    if (acks.size === 0) return;
    try {
      await this.#options.onAck?.(acks);
    } catch (err) {
      this.#logger.error({ err, acks: acks.size }, "could not keep the acknowledgements of a batch");
    }
  }

  #retryDelay(): number {
    const { retryDelay, random } = this.#options;
    try {
      const ms =
        retryDelay === undefined ? DEFAULT_RETRY_DELAY_MS + staggered(DEFAULT_RETRY_DELAY_MS, random) : retryDelay();
      if (ms >= 0 && ms <= Number.MAX_SAFE_INTEGER) return ms;
      throw badArgument("retryDelay()", ms, "a number of ms >= 0");
    } catch (err) {
      this.#logger.error({ err }, "no usable retry delay, taking the default");
      return DEFAULT_RETRY_DELAY_MS;
    }
  }
}
