import { createBackoff, type Backoff, type Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { classifyFailure, failureText } from "./classify-failure.ts";
import type { LogDampener } from "./log-dampener.ts";
import { FLAP_LIMIT_MS, type StatsSource } from "./options.ts";
import { openStream, type Stream, type StreamEvents } from "./stream.ts";

/** The waits after failed openings: made when the first opening fails, for most never do. @internal */
export interface RetryWaits {
  get(): Backoff;
  reset(): void;
}

/** What a collector needs of its hook. @internal */
export interface CollectorContext<S> {
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dampener: LogDampener;
  readonly retry: RetryWaits;
  readonly counts: { opens: number; ends: number; failures: number };
  /** Stores and hands on; a promise means "not yet the next one". */
  readonly deliver: (sample: S) => Promise<unknown> | undefined;
}

/** Collects from one source until cancelled: opens, passes samples on, and opens again after a wait when the stream ended. @internal */
export class Collector<S> implements StreamEvents<S> {
  readonly #source: StatsSource<S>;
  readonly #context: CollectorContext<S>;
  readonly #deliver: (sample: S) => Promise<unknown> | undefined;
  /** Waits after streams that ended without any sample. */
  #flap: Backoff | undefined;
  #stream: Stream | undefined;
  #timer: unknown;
  #cancelled = false;
  #sampled = false;
  /** An error line was written and no sample has come since. */
  #failing = false;

  constructor(source: StatsSource<S>, context: CollectorContext<S>) {
    this.#source = source;
    this.#context = context;
    this.#deliver = context.deliver;
  }

  /** Opens the source, after what still holds the one before. */
  start(after: Promise<void> | undefined): void {
    if (after === undefined) this.#open();
    else void after.then(this.#open);
  }

  /** No event, no update and no timer after this returns; the promise tells when the source let go. */
  cancel(): Promise<void> {
    this.#cancelled = true;
    if (this.#timer !== undefined) this.#context.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#stream?.release() ?? Promise.resolve();
  }

  sample(sample: S): Promise<unknown> | undefined {
    if (!this.#sampled) {
      this.#sampled = true;
      this.#flap = undefined;
      this.#context.retry.reset();
      if (this.#failing) {
        this.#failing = false;
        this.#context.logger.info("stats are back");
      }
    }
    return this.#deliver(sample);
  }

  end(failed: boolean, reason: unknown): void {
    this.#stream = undefined;
    if (this.#cancelled) return;
    if (failed) return this.#failed(reason);
    this.#context.counts.ends++;
    this.#context.logger.debug({ sampled: this.#sampled }, "the stream of stats ended");
    // A driver may send one sample and close: then one interval. One that sends nothing is asked less and less often.
    this.#wait(this.#sampled ? this.#context.intervalMs : this.#flapDelay());
  }

  readonly #open = (): void => {
    this.#timer = undefined;
    if (this.#cancelled) return;
    this.#sampled = false;
    this.#context.counts.opens++;
    const { intervalMs, clock } = this.#context;
    this.#stream = openStream(this.#source, intervalMs, this, clock);
  };

  #flapDelay(): number {
    const { intervalMs, clock } = this.#context;
    this.#flap ??= createBackoff({ base: intervalMs, limit: Math.max(FLAP_LIMIT_MS, intervalMs), clock });
    return this.#flap.next();
  }

  #failed(reason: unknown): void {
    const { logger, counts } = this.#context;
    const retryBackoff = this.#context.retry.get();
    counts.failures++;
    const kind = classifyFailure(reason);
    if (kind === "not-implemented" || kind === "unrecoverable") {
      logger.debug({ err: reason, kind }, "stats cannot be collected from this driver");
      return;
    }
    const attempt = retryBackoff.attempt;
    // A stream that has worked is opened again after one interval, unless its plugin is known to restart.
    const delayMs = this.#sampled && kind === "recoverable" ? this.#context.intervalMs : retryBackoff.next();
    if (kind === "plugin-shutdown")
      logger.debug({ err: reason, attempt, delayMs }, "the plugin is shut down, trying again");
    else this.#log(reason, attempt, delayMs);
    this.#wait(delayMs);
  }

  #log(err: unknown, attempt: number, delayMs: number): void {
    const { logger, dampener, clock } = this.#context;
    const omitted = dampener.admit(failureText(err), clock.monotonic());
    if (omitted === undefined) return;
    if (this.#sampled) {
      logger.warn({ err, delayMs, omitted }, "the stream of stats failed");
      return;
    }
    this.#failing = true;
    logger.error({ err, attempt, delayMs, omitted }, "could not open the stream of stats");
  }

  #wait(ms: number): void {
    this.#timer = this.#context.clock.setTimeout(this.#open, ms);
  }
}
