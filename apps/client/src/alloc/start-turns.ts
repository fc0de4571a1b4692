/** Lets a few allocations start at a time, so that the first are up while the last have not begun. */
import { type Clock, onAbort } from "@outrider/backoff";

/** A place among those that start. */
export interface StartTurn {
  /** Gives the place to the next; again does nothing. */
  end(): void;
}

/** How many start at a time. */
const MOST = 12;
/** After this a start that is not over is taken to wait for something else, and its place is given away, ms. */
const HOLD_MS = 50;

/**
 * Without it allocations that come together go through each step together: the agent works for all of them while their driver has nothing
 * to do yet, and then waits for it.
 */
export class StartTurns {
  readonly #clock: Clock;
  readonly #running = new Map<StartTurn, number>();
  readonly #waiting = new Set<(turn: StartTurn) => void>();
  #timer: unknown;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when it is this one's turn, or at the abort. */
  enter(signal: AbortSignal): Promise<StartTurn> {
    if (signal.aborted || (this.#waiting.size === 0 && this.#running.size < MOST)) {
      return Promise.resolve(this.#begin());
    }
    return new Promise((resolve) => {
      const go = (turn: StartTurn): void => {
        forget();
        resolve(turn);
      };
      const forget = onAbort(signal, () => {
        this.#waiting.delete(go);
        resolve(this.#begin());
      });
      this.#waiting.add(go);
      if (this.#timer === undefined) this.#arm();
    });
  }

  #begin(): StartTurn {
    const turn: StartTurn = {
      end: () => {
        if (this.#running.delete(turn)) this.#next();
      },
    };
    this.#running.set(turn, this.#clock.monotonic());
    return turn;
  }

  #next(): void {
    for (const go of this.#waiting) {
      if (this.#running.size >= MOST) break;
      this.#waiting.delete(go);
      go(this.#begin());
    }
    this.#arm();
  }

  /** For as long as somebody waits, the oldest turn has an end. */
  #arm(): void {
    if (this.#timer !== undefined) this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    const [oldestMs] = this.#running.values();
    if (oldestMs === undefined || this.#waiting.size === 0) return;
    const leftMs = Math.max(0, oldestMs + HOLD_MS - this.#clock.monotonic());
    this.#timer = this.#clock.setTimeout(() => this.#expire(), leftMs);
  }

  #expire(): void {
    const sinceMs = this.#clock.monotonic() - HOLD_MS;
    for (const [turn, atMs] of this.#running) if (atMs <= sinceMs) this.#running.delete(turn);
    this.#next();
  }
}
