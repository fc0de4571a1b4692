import type { Clock } from "../clock.ts";

/** Taken at load, before a test runner can replace it: it lets promise callbacks run. */
const realSetImmediate = globalThis.setImmediate;

/** A pending timer as {@link ManualClock.pending} tells it. @public */
export interface PendingTimer {
  /** Monotonic ms at which it fires. */
  readonly at: number;
  /** Ms from now; negative if it is overdue (see `setMonotonic`). */
  readonly inMs: number;
  /** False after `unref()`. */
  readonly ref: boolean;
}

class ManualTimer {
  readonly at: number;
  readonly seq: number;
  readonly fn: () => void;
  isRef = true;

  constructor(at: number, seq: number, fn: () => void) {
    this.at = at;
    this.seq = seq;
    this.fn = fn;
  }
  unref(): this {
    this.isRef = false;
    return this;
  }
  ref(): this {
    this.isRef = true;
    return this;
  }
}

/**
 * A clock that stands still until the test moves it. `advance` and `runUntilIdle` fire due timers in order and let promise
 * callbacks run after each one, so code written with `await sleep(…)` proceeds as it would in real time.
 * Like Node, a delay below 1 ms counts as 1 ms. Unlike Node, any length is kept, and NaN or Infinity throws.
 * @public
 */
export class ManualClock implements Clock {
  #wall: number;
  #monotonic: number;
  #seq = 0;
  /** Sorted by time, then by order of creation. */
  readonly #timers: ManualTimer[] = [];

  /** Starts at 2026-01-01T00:00:00Z and monotonic 0 unless told otherwise. */
  constructor(start: { readonly now?: number | Date; readonly monotonic?: number } = {}) {
    this.#wall = Number(start.now ?? 1_767_225_600_000);
    this.#monotonic = start.monotonic ?? 0;
  }

  // Arrow functions, since the functions of a clock are often handed around without their object.
  now = (): number => this.#wall;

  monotonic = (): number => this.#monotonic;

  setTimeout = (fn: () => void, ms: number): unknown => {
    if (!Number.isFinite(ms)) throw new RangeError(`ms must be a finite number, got ${String(ms)}`);
    const timer = new ManualTimer(this.#monotonic + Math.max(1, ms), this.#seq++, fn);
    this.#timers.splice(this.#position(timer), 0, timer);
    return timer;
  };

  clearTimeout = (handle: unknown): void => {
    if (!(handle instanceof ManualTimer)) return;
    const index = this.#position(handle);
    if (this.#timers[index] === handle) this.#timers.splice(index, 1);
  };

  /** All pending timers, the next one first. */
  get pending(): readonly PendingTimer[] {
    return this.#timers.map((t) => ({ at: t.at, inMs: t.at - this.#monotonic, ref: t.isRef }));
  }

  /** Lets promise callbacks run without moving time. */
  flush(): Promise<void> {
    return new Promise((resolve) => realSetImmediate(resolve));
  }

  /** Moves both clocks by `ms` ≥ 0, firing every timer on the way at its own time. */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0 && ms < Infinity)) throw new RangeError(`ms must be a finite number >= 0, got ${ms}`);
    const target = this.#monotonic + ms;
    await this.flush();
    for (let next = this.#timers[0]; next && next.at <= target; next = this.#timers[0]) {
      this.#fire(next);
      await this.flush();
    }
    this.#move(target);
  }

  /**
   * Fires timers, moving time as needed, until none is pending.
   * Throws after `maxTimers` (default 10,000): the code under test never idles.
   */
  async runUntilIdle(options: { readonly maxTimers?: number } = {}): Promise<void> {
    const { maxTimers = 10_000 } = options;
    await this.flush();
    let fired = 0;
    for (let next = this.#timers[0]; next; next = this.#timers[0]) {
      if (fired++ >= maxTimers) throw new Error(`still not idle after ${maxTimers} timers`);
      this.#fire(next);
      await this.flush();
    }
  }

  /** Sets the wall clock alone, either way, like a corrected or restored system clock. Timers do not care. */
  setWall(now: number | Date): void {
    this.#wall = Number(now);
  }

  /** Sets the monotonic clock alone, forward only, like a blocked event loop. Overdue timers fire at the next `advance`. */
  setMonotonic(ms: number): void {
    if (!(ms >= this.#monotonic)) throw new RangeError(`the monotonic clock cannot go back to ${ms}`);
    this.#monotonic = ms;
  }

  #fire(timer: ManualTimer): void {
    this.#timers.shift();
    this.#move(Math.max(timer.at, this.#monotonic));
    timer.fn();
  }

  #move(monotonic: number): void {
    // A callback may have moved the clock past the target.
    const by = Math.max(0, monotonic - this.#monotonic);
    this.#monotonic += by;
    this.#wall += by;
  }

  /** Index of the first timer that is not before `timer`. */
  #position(timer: ManualTimer): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#timers[middle] as ManualTimer;
      if (other.at < timer.at || (other.at === timer.at && other.seq < timer.seq)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
