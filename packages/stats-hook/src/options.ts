import type { BackoffOptions, Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";

/** Shortest interval that is accepted, ms. @public */
export const MIN_INTERVAL_MS = 10;
/** First wait after a failed opening, ms. @public */
export const DEFAULT_RETRY_BASE_MS = 1000;
/** Longest wait after failed openings, ms. @public */
export const DEFAULT_RETRY_LIMIT_MS = 5000;
/** Longest wait between streams that end without a sample, ms (or the interval, if that is longer). @public */
export const FLAP_LIMIT_MS = 30_000;
/** How long a hung `return()` of a stream is waited for, ms. @public */
export const RELEASE_TIMEOUT_MS = 1000;
/** The same failure is logged at most once in this time, ms. @public */
export const REPEAT_LOG_MS = 60_000;

/** Opens a stream of samples, one each `intervalMs`. The signal aborts when no more are wanted. Throws or rejects when it cannot open. @public */
export type StatsFn<S> = (signal: AbortSignal, intervalMs: number) => AsyncIterable<S> | Promise<AsyncIterable<S>>;

/** Where a pushing source puts its samples. @public */
export interface StatsSink<S> {
  /** One sample. */
  next(sample: S): void;
  /** The stream ended, with the reason if it failed. Nothing may follow. */
  end(reason?: unknown): void;
}

/** Opens a stream in callback form, the cheap one for thousands of streams; gives the function that ends it. @public */
export type SubscribeFn<S> = (sink: StatsSink<S>, intervalMs: number) => (() => void) | Promise<() => void>;

/** A source of samples in one of two forms. @public */
export type StatsSource<S> =
  | { readonly stats: StatsFn<S>; readonly subscribe?: undefined }
  | { readonly subscribe: SubscribeFn<S>; readonly stats?: undefined };

/** Options of {@link StatsHook}. @public */
export interface StatsHookOptions<S> {
  /**
   * Gets each sample, synchronously. A promise holds the next sample of an iterated stream back. What it throws is logged once and does not end
   * the collection.
   */
  readonly update: (sample: S) => unknown;
  /** Time between samples in ms, at least 10. */
  readonly interval: number;
  /** Whether to collect at all. Default true; whether to publish is the updater's business. */
  readonly collect?: boolean | undefined;
  /** Bind `task` and `allocId` to it. Default: silent. */
  readonly logger?: Logger | undefined;
  /** Waits after failed openings. Default 1, 2, 4, 5, 5 … seconds. */
  readonly backoff?: Partial<Pick<BackoffOptions, "base" | "limit" | "factor" | "jitter" | "random">> | undefined;
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

/** The newest sample and how old it is. @public */
export interface LatestSample<S> {
  readonly sample: S;
  /** Since it was collected, ms, by a clock that never goes back. */
  readonly ageMs: number;
  /** Whether the task it belongs to is running: aggregates leave the others out. */
  readonly running: boolean;
}

/** Counters of one hook since its creation. @public */
export interface StatsHookCounters {
  /** Calls of the source. */
  readonly opens: number;
  /** Samples handed to the updater. */
  readonly samples: number;
  /** Streams that ended by themselves. */
  readonly ends: number;
  /** Openings and streams that failed. */
  readonly failures: number;
  /** Failures of the updater. */
  readonly updateFailures: number;
}
