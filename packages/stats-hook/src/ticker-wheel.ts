import type { Clock } from "@outrider/backoff";

/** Shortest slot of a wheel, ms. */
const MIN_SLOT_MS = 10;
/** A wake-up of the process costs as much as dozens of small jobs: enough slots to spread the load, and no more. */
const MAX_SLOTS = 25;
/** How long one turn of the event loop may be held, ms. @public */
export const MAX_TURN_MS = 2;

/** Something to do once an interval; true when it is not finished and wants to be called again as soon as the event loop had a turn. @public */
export type TickerJob = () => boolean | void;

interface Entry {
  readonly job: TickerJob;
  /** Number of the first slot in which it is called. */
  readonly first: number;
  live: boolean;
  /** In the queue: a job that has not had its turn yet is not queued again. */
  queued: boolean;
}

/**
 * Calls many jobs once an interval each, spread over it by a stable hash of their keys, with one timer for all and never holding the event loop
 * for long. @internal
 */
export class TickerWheel {
  readonly #clock: Clock;
  readonly #slots: Array<Set<Entry>>;
  readonly #slotMs: number;
  readonly #queue: Entry[] = [];
  #count = 0;
  #timer: unknown;
  /** Number of the next slot to fire, counted from the start. */
  #next = 0;
  #startMs = 0;
  #running = false;

  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    const slots = Math.max(1, Math.min(MAX_SLOTS, Math.floor(intervalMs / MIN_SLOT_MS)));
    this.#slotMs = intervalMs / slots;
    this.#slots = Array.from({ length: slots }, () => new Set<Entry>());
  }

  get empty(): boolean {
    return this.#count === 0;
  }

  /** Adds a job; gives the function that takes it away. The first call is within one interval, or at once. */
  add(key: string, job: TickerJob, atOnce: boolean): () => void {
    if (this.#count === 0) this.#startMs = this.#clock.monotonic();
    if (this.#count === 0) this.#next = 0;
    this.#count++;
    const size = this.#slots.length;
    const now = Math.floor((this.#clock.monotonic() - this.#startMs) / this.#slotMs);
    const first = now + ((((hash(key) - now) % size) + size) % size);
    const slot = this.#slots[first % size] as Set<Entry>;
    // An own entry, so that one function may be added twice and a job taken away is not called from the queue.
    const entry: Entry = { job, first, live: true, queued: false };
    slot.add(entry);
    if (slot.size === 1) this.#arm();
    if (atOnce) {
      this.#push(entry);
      this.#runSoon();
    }
    return () => {
      entry.live = false;
      if (!slot.delete(entry)) return;
      this.#count--;
      if (this.#count === 0) this.#stop();
    };
  }

  /** Takes every job away. */
  clear(): void {
    for (const slot of this.#slots) {
      for (const entry of slot) entry.live = false;
      slot.clear();
    }
    this.#count = 0;
    this.#stop();
  }

  #stop(): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Arms for the next slot that has a job: empty ones wake nobody. */
  #arm(): void {
    this.#stop();
    const size = this.#slots.length;
    let slot = this.#next;
    while (slot < this.#next + size && this.#slots[slot % size]?.size === 0) slot++;
    const dueMs = this.#startMs + (slot + 1) * this.#slotMs;
    this.#timer = this.#clock.setTimeout(() => this.#tick(slot + 1), Math.max(0, dueMs - this.#clock.monotonic()));
  }

  #tick(due: number): void {
    const passed = Math.floor((this.#clock.monotonic() - this.#startMs) / this.#slotMs);
    // A timer may fire a fraction early; a late one serves each slot that it missed once, never twice.
    const upTo = Math.max(passed, due);
    const missed = Math.min(upTo - this.#next, this.#slots.length);
    for (let i = upTo - missed; i < upTo; i++) {
      for (const entry of this.#slots[i % this.#slots.length] as Set<Entry>) if (entry.first <= i) this.#push(entry);
    }
    this.#next = upTo;
    this.#arm();
    this.#run();
  }

  #push(entry: Entry): void {
    if (entry.queued) return;
    entry.queued = true;
    this.#queue.push(entry);
  }

  #runSoon(): void {
    if (this.#running) return;
    this.#running = true;
    setImmediate(() => {
      this.#running = false;
      this.#run();
    });
  }

  #run(): void {
    // A later turn goes on with the queue.
    if (this.#running) return;
    const queue = this.#queue;
    const endMs = this.#clock.monotonic() + MAX_TURN_MS;
    let done = 0;
    try {
      while (done < queue.length) {
        const entry = queue[done] as Entry;
        if (!entry.live || entry.job() !== true) {
          entry.queued = false;
          done++;
        }
        if (this.#clock.monotonic() >= endMs) break;
      }
    } catch (error) {
      // Like a throwing timer: the others have their turn.
      (queue[done] as Entry).queued = false;
      done++;
      throw error;
    } finally {
      queue.splice(0, done);
      if (queue.length > 0) this.#runSoon();
    }
  }
}

// FNV-1a: the phase of a task is the same after a restart and on every machine.
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
