import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";

/** Length of one tick, ms. @public */
export const DEFAULT_TICK_MS = 200;
/** Typical updates go out at ticks divisible by this. @public */
export const DEFAULT_TYPICAL_EVERY = 5;
/** Bound of a flush, ms. @public */
export const DEFAULT_FLUSH_DEADLINE_MS = 1000;
/** Shortest wait after a failed send, ms; as much again is added at random. @public */
export const DEFAULT_RETRY_DELAY_MS = 5000;

/**
 * How soon an update must reach the server. `none`: the server has it already. `typical`: within a second. `urgent`: at the next tick, taking all
 * others along. `unknown`: nobody owns the id any more; sent like a typical one, but not acknowledged. @public
 */
export type Priority = "none" | "typical" | "urgent" | "unknown";

/** What `send` gets besides the batch. @public */
export interface SendContext {
  /** Aborts when the sync stops or a flush runs out of time. */
  readonly signal: AbortSignal;
}

/** Options of {@link createAllocSync}: `U` is an update, `A` what is kept of one that the server confirmed. @public */
export interface AllocSyncOptions<U, A> {
  /** Delivers a batch; resolves when the server has taken all of it, rejects when it may have taken none. */
  readonly send: (batch: U[], context: SendContext) => Promise<void>;
  /** The identity of an update: a newer one replaces an older one of the same id. */
  readonly id: (update: U) => string;
  /** Compares an update with the last acknowledged state of its id. Called by one loop only, never twice at a time. */
  readonly priority: (update: U, ack: A | undefined) => Priority;
  /** What to remember of a sent update. */
  readonly toAck: (update: U) => A;
  /** All acknowledgements of one batch: persist them in one transaction. A failure is logged, never fatal. */
  readonly onAck?: ((acks: Map<string, A>) => void | Promise<void>) | undefined;
  /** Nothing is sent before this resolves (updates are kept). Default: at once. */
  readonly ready?: Promise<void> | undefined;
  /** Tick length in ms. Default 200. */
  readonly tick?: number | undefined;
  /** Default 5: typical updates at most once a second. */
  readonly typicalEvery?: number | undefined;
  /** Wait after a failed send, ms. Default 5 s plus up to 5 s at random. */
  readonly retryDelay?: (() => number) | undefined;
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** Draws in [0, 1) for the default `retryDelay`. */
  readonly random?: (() => number) | undefined;
  /** Default: silent. */
  readonly logger?: Logger | undefined;
}

/** Counters since creation, and what is pending now. @public */
export interface AllocSyncStats {
  /** Updates in the buffer. */
  readonly pending: number;
  /** Whether a send is under way. */
  readonly sending: boolean;
  /** Whether the ready gate is open. */
  readonly ready: boolean;
  /** Timer fires since the last success. */
  readonly ticks: number;
  /** Updates handed to `push`. */
  readonly pushed: number;
  /** Updates replaced by a newer one before they were sent. */
  readonly replaced: number;
  /** Updates left out because the server had the same state. */
  readonly unchanged: number;
  /** Calls of `send`. */
  readonly sends: number;
  /** Calls of `send` that failed. */
  readonly failures: number;
  /** Updates delivered. */
  readonly delivered: number;
  /** Updates put back after a failed send. */
  readonly returned: number;
}

/** Options of a flush. @public */
export interface FlushOptions {
  /** Bound of the wait in ms, whatever `send` does. Default 1 s. */
  readonly deadlineMs?: number | undefined;
}

/** A running synchronisation. Disposing it ends the ticks and a send under way. @public */
export interface AllocSync<U, A> extends AsyncDisposable {
  /** Takes an update; never blocks, never fails for a full buffer: the newest of each id wins. */
  push(update: U): void;
  /** Tells what the server had confirmed before, for example read from disk at start. */
  acknowledge(id: string, ack: A): void;
  /** The owner of the id is gone: drops its acknowledgement. A pending update is still sent. */
  forget(id: string): void;
  /** Starts the ticks; they end when the signal aborts. May be called once. */
  start(signal: AbortSignal): void;
  /**
   * Sends what is pending now, without waiting for a tick, and returns when it is delivered, when it failed once, or at the deadline,
   * whichever is first; what is left shows in `stats.pending`. Rejects only for a bad deadline. Does nothing before the ready gate is open.
   */
  flush(options?: FlushOptions): Promise<void>;
  /** Counters; a new object at each reading. */
  readonly stats: AllocSyncStats;
}
