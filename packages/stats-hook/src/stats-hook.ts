import { createBackoff, systemClock, type Backoff, type Clock } from "@outrider/backoff";
import { noopLogger, OutriderError, type Logger } from "@outrider/foundation";
import { failureText } from "./classify-failure.ts";
import { Collector, type CollectorContext, type RetryWaits } from "./collector.ts";
import { LogDampener } from "./log-dampener.ts";
import {
  DEFAULT_RETRY_BASE_MS,
  DEFAULT_RETRY_LIMIT_MS,
  MIN_INTERVAL_MS,
  type LatestSample,
  type StatsHookCounters,
  type StatsHookOptions,
  type StatsSource,
} from "./options.ts";

/**
 * Keeps the statistics of one task coming, from its start to its exit, whatever happens to their source. Throws `ERR_OUTRIDER_STATS_OPTION` for a
 * bad option. @public
 */
export class StatsHook<S> implements AsyncDisposable {
  readonly #update: (sample: S) => unknown;
  readonly #collect: boolean;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #context: CollectorContext<S>;
  readonly #counts = { opens: 0, ends: 0, failures: 0, updateFailures: 0 };
  #samples = 0;
  #collector: Collector<S> | undefined;
  #released: Promise<void> | undefined;
  #closed = false;
  #latest: S | undefined;
  // A fraction from the start: the field then holds its number in place and is not allocated anew for each sample.
  #latestAt = Number.NaN;

  constructor(options: StatsHookOptions<S>) {
    const { update, interval, collect = true, logger = noopLogger, clock = systemClock } = options;
    if (typeof update !== "function") throw badOption("update", update, "a function");
    if (!(interval >= MIN_INTERVAL_MS && interval <= Number.MAX_SAFE_INTEGER)) {
      throw badOption("interval", interval, `a number of ms >= ${MIN_INTERVAL_MS}`);
    }
    this.#update = update;
    this.#collect = collect;
    this.#logger = logger;
    this.#clock = clock;
    this.#context = {
      intervalMs: interval,
      clock,
      logger,
      dampener: new LogDampener(),
      retry: retryWaits(options.backoff, clock),
      counts: this.#counts,
      deliver: (sample) => this.#deliver(sample),
    };
  }

  /** The task has started: collect from this source. A collector that still runs is replaced, never doubled. */
  poststart(source: StatsSource<S>): void {
    if (!this.#collect) return this.#logger.trace("stats are not collected");
    if (this.#closed) return this.#logger.debug("stats are not collected after the shutdown");
    const open: unknown = source.subscribe ?? source.stats;
    if (typeof open !== "function") throw badOption("stats", open, "a function (or give subscribe)");
    if (this.#collector !== undefined) {
      this.#logger.debug("stats are still collected, replacing the collector");
      this.#cancel();
    }
    this.#context.retry.reset();
    this.#collector = new Collector(source, this.#context);
    this.#collector.start(this.#released);
  }

  /** The task has exited: when this returns no update follows, not even of a sample in flight. May be called at any time, any number of times. */
  exited(): Promise<void> {
    this.#cancel();
    return Promise.resolve();
  }

  /** The agent stops: like `exited`, for good; resolves when the source has let go, after a second at the latest. */
  async shutdown(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    await this.#released;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  /** The newest sample, kept also after the exit; `undefined` before the first one. */
  latest(): LatestSample<S> | undefined {
    if (this.#samples === 0) return undefined;
    const ageMs = this.#clock.monotonic() - this.#latestAt;
    return { sample: this.#latest as S, ageMs, running: this.#collector !== undefined };
  }

  /** Counters; a new object at each reading. */
  get counters(): StatsHookCounters {
    return { ...this.#counts, samples: this.#samples };
  }

  #cancel(): void {
    const collector = this.#collector;
    if (collector === undefined) return;
    this.#collector = undefined;
    const released = collector.cancel().then(() => {
      if (this.#released === released) this.#released = undefined;
    });
    this.#released = released;
  }

  #deliver(sample: S): Promise<unknown> | undefined {
    this.#latest = sample;
    this.#latestAt = this.#clock.monotonic();
    this.#samples++;
    try {
      const result = this.#update(sample);
      if (!isPromise(result)) return undefined;
      return result.then(undefined, (error: unknown) => this.#updateFailed(error));
    } catch (error) {
      this.#updateFailed(error);
      return undefined;
    }
  }

  #updateFailed(err: unknown): void {
    this.#counts.updateFailures++;
    const omitted = this.#context.dampener.admit(`update ${failureText(err)}`, this.#clock.monotonic());
    if (omitted !== undefined) this.#logger.error({ err, omitted }, "the updater of stats failed");
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

function retryWaits(given: StatsHookOptions<unknown>["backoff"], clock: Clock): RetryWaits {
  const make = (): Backoff =>
    createBackoff({ base: DEFAULT_RETRY_BASE_MS, limit: DEFAULT_RETRY_LIMIT_MS, ...given, clock });
  let backoff: Backoff | undefined;
  try {
    // Options are refused now, not at the first failure.
    if (given !== undefined) backoff = make();
  } catch (cause) {
    throw badOption("backoff", (cause as Error).message, "options of a backoff", cause);
  }
  return { get: () => (backoff ??= make()), reset: () => backoff?.reset() };
}

function badOption(field: string, given: unknown, expected: string, cause?: unknown): OutriderError {
  const text = typeof given === "string" ? given : String(given);
  return new OutriderError(
    "ERR_OUTRIDER_STATS_OPTION",
    `stats hook: ${field} must be ${expected}, got ${JSON.stringify(text)}`,
    {
      cause,
      details: { field, text },
    },
  );
}
