import { sleep, type Clock } from "@outrider/backoff";
import type { ChangeFeed } from "../server/change-feed.ts";
import type { TableName } from "../server/index.ts";
import { HttpError } from "./http-error.ts";

/** Queries that one connection may have waiting: more than one only when it sends requests before their answers. */
const MAX_PER_CLIENT = 4;
/** How long a query has waited at least when its place is needed by another, ms. */
const MIN_WAIT_MS = 1000;

/** Bounds of requests that stay open. */
export interface WaitingLimits {
  /** Blocking queries at one time. */
  readonly queries: number;
  /** Log, file and event streams at one time. */
  readonly streams: number;
}

/** Defaults: far from what the process could hold open, so that normal requests always find room. */
export const DEFAULT_WAITING_LIMITS: WaitingLimits = { queries: 512, streams: 256 };

interface Waiter {
  readonly sinceMs: number;
  /** Answers with what there is. */
  readonly end: () => void;
}

/**
 * Counts the requests that wait, so that they never take what normal requests need. When all places are taken, the query that
 * has waited longest is answered as if its time were over, and its client asks again; only when all of them have just come is
 * the new one refused.
 */
export class WaitingQueries {
  readonly #limits: WaitingLimits;
  readonly #feed: ChangeFeed;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #turns: { later(): Promise<void> } | undefined;
  readonly #ending = new AbortController();
  /** The oldest first. */
  readonly #waiters = new Set<Waiter>();
  readonly #byClient = new WeakMap<object, number>();
  #streams = 0;

  constructor(o: {
    readonly limits: WaitingLimits;
    readonly feed: ChangeFeed;
    readonly clock: Clock;
    readonly random: () => number;
    /** Spreads the work when a change wakes many. */
    readonly turns?: { later(): Promise<void> };
  }) {
    this.#limits = o.limits;
    this.#feed = o.feed;
    this.#clock = o.clock;
    this.#random = o.random;
    this.#turns = o.turns;
  }

  /** How many queries wait. */
  get size(): number {
    return this.#waiters.size;
  }

  /**
   * Waits until `read` gives an index above the asked one, the time is over, or the client is gone. `newest` is an index that
   * cannot be below the one of `read`, and is cheap to tell: what cannot have changed is not read.
   */
  async answer<T extends { readonly index: number }>(
    read: () => T,
    o: {
      readonly newest: () => number;
      readonly tables: readonly TableName[];
      readonly index: number;
      readonly waitMs: number;
      readonly signal: AbortSignal;
      /** Whose places are counted: the connection. */
      readonly client?: object | undefined;
    },
  ): Promise<T> {
    const readNewer = (): T | undefined => {
      if (o.newest() <= o.index) return undefined;
      const result = read();
      return result.index > o.index ? result : undefined;
    };
    const now = o.index === 0 ? read() : readNewer();
    if (now !== undefined) return now;
    const timeUp = new AbortController();
    const leave = this.#enter(o.client, () => timeUp.abort());
    const signal = AbortSignal.any([o.signal, timeUp.signal, this.#ending.signal]);
    // A little more for each, so that clients that ask together do not come back together.
    const waitMs = o.waitMs + Math.floor((this.#random() * o.waitMs) / 16);
    const timer = sleep(waitMs, { signal, clock: this.#clock }).then(
      () => timeUp.abort(),
      () => undefined,
    );
    try {
      for (;;) {
        if (!(await this.#feed.next(o.tables, signal))) return read();
        await this.#turns?.later();
        const result = readNewer();
        if (result !== undefined) return result;
      }
    } finally {
      leave();
      timeUp.abort();
      await timer;
    }
  }

  /** Takes a place; gives what frees it. */
  #enter(client: object | undefined, end: () => void): () => void {
    const own = (client === undefined ? undefined : this.#byClient.get(client)) ?? 0;
    if (own >= MAX_PER_CLIENT) throw tooMany(`more than ${MAX_PER_CLIENT} queries of this connection wait`);
    if (this.#waiters.size >= this.#limits.queries) {
      const [oldest] = this.#waiters;
      if (oldest === undefined || this.#clock.monotonic() - oldest.sinceMs < MIN_WAIT_MS)
        throw tooMany(`more than ${this.#limits.queries} queries wait`);
      this.#waiters.delete(oldest);
      oldest.end();
    }
    const waiter: Waiter = { sinceMs: this.#clock.monotonic(), end };
    this.#waiters.add(waiter);
    if (client !== undefined) this.#byClient.set(client, own + 1);
    return () => {
      this.#waiters.delete(waiter);
      if (client !== undefined) this.#byClient.set(client, (this.#byClient.get(client) ?? 1) - 1);
    };
  }

  /** Registers a stream; throws 429 when there are too many. Its signal aborts when the server ends. */
  openStream(): { readonly signal: AbortSignal; readonly close: () => void } {
    if (this.#streams >= this.#limits.streams) throw tooMany(`more than ${this.#limits.streams} streams are open`);
    this.#streams += 1;
    let open = true;
    return {
      signal: this.#ending.signal,
      close: () => {
        if (open) this.#streams -= 1;
        open = false;
      },
    };
  }

  /** Ends everything that waits. */
  end(): void {
    this.#ending.abort(new DOMException("the server ends", "AbortError"));
  }
}

const tooMany = (what: string): HttpError => new HttpError(429, `${what}; try again later`, { "retry-after": "1" });
