import { sleep, type Clock } from "@outrider/backoff";
import type { ChangeFeed } from "../server/change-feed.ts";
import type { TableName } from "../server/index.ts";
import { HttpError } from "./http-error.ts";

/** Bounds of requests that stay open. */
export interface WaitingLimits {
  /** Blocking queries at one time. */
  readonly queries: number;
  /** Log, file and event streams at one time. */
  readonly streams: number;
}

/** Defaults: far from what the process could hold open, so that normal requests always find room. */
export const DEFAULT_WAITING_LIMITS: WaitingLimits = { queries: 512, streams: 256 };

/** Counts the requests that wait. One too many is told so at once: it never takes what normal requests need. */
export class WaitingQueries {
  readonly #limits: WaitingLimits;
  readonly #feed: ChangeFeed;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #ending = new AbortController();
  #queries = 0;
  #streams = 0;

  constructor(o: {
    readonly limits: WaitingLimits;
    readonly feed: ChangeFeed;
    readonly clock: Clock;
    readonly random: () => number;
  }) {
    this.#limits = o.limits;
    this.#feed = o.feed;
    this.#clock = o.clock;
    this.#random = o.random;
  }

  /** Waits until `read` gives an index above the asked one, the time is over, or the client is gone. */
  async answer<T extends { readonly index: number }>(
    read: () => T,
    o: {
      readonly tables: readonly TableName[];
      readonly index: number;
      readonly waitMs: number;
      readonly signal: AbortSignal;
    },
  ): Promise<T> {
    const now = read();
    if (o.index === 0 || now.index > o.index) return now;
    if (this.#queries >= this.#limits.queries)
      throw new HttpError(429, `more than ${this.#limits.queries} queries wait; try again later or without index`, {
        "retry-after": "1",
      });
    this.#queries += 1;
    const timeUp = new AbortController();
    const signal = AbortSignal.any([o.signal, timeUp.signal, this.#ending.signal]);
    // A little more for each, so that clients that ask together do not come back together.
    const waitMs = o.waitMs + Math.floor((this.#random() * o.waitMs) / 16);
    const timer = sleep(waitMs, { signal, clock: this.#clock }).then(
      () => timeUp.abort(),
      () => undefined,
    );
    try {
      for (;;) {
        const result = read();
        if (result.index > o.index) return result;
        if (!(await this.#feed.next(o.tables, signal))) return read();
      }
    } finally {
      this.#queries -= 1;
      timeUp.abort();
      await timer;
    }
  }

  /** Registers a stream; throws 429 when there are too many. Its signal aborts when the server ends. */
  openStream(): { readonly signal: AbortSignal; readonly close: () => void } {
    if (this.#streams >= this.#limits.streams)
      throw new HttpError(429, `more than ${this.#limits.streams} streams are open; try again later`, {
        "retry-after": "1",
      });
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
