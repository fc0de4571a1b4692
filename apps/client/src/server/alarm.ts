import type { Clock } from "@outrider/backoff";

/** Longest time between two looks at the clock, ms: a clock that was set is noticed by then. */
const MAX_WAIT_MS = 60_000;

/** Calls back when the wall clock reaches a time; one time at once. */
export class Alarm implements Disposable {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #timer: unknown;
  #atMs: number | undefined;
  #ended = false;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Sets the time, or clears it. */
  set(atMs: number | undefined): void {
    if (this.#ended || atMs === this.#atMs) return;
    this.#clear();
    this.#atMs = atMs;
    this.#arm();
  }

  [Symbol.dispose](): void {
    this.#ended = true;
    this.#clear();
  }

  #arm(): void {
    if (this.#atMs === undefined) return;
    const waitMs = Math.min(MAX_WAIT_MS, Math.max(0, this.#atMs - this.#clock.now()));
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = undefined;
      if (this.#atMs !== undefined && this.#clock.now() < this.#atMs) {
        this.#arm();
        return;
      }
      this.#atMs = undefined;
      this.#ring();
    }, waitMs);
  }

  #clear(): void {
    if (this.#timer !== undefined) this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#atMs = undefined;
  }
}
