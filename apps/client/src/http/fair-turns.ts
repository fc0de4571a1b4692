import type { Clock } from "@outrider/backoff";

/** How long requests may be worked on before the event loop looks for other news, ms. */
const TURN_MS = 10;
/** Released in one turn at most: what is released may run only afterwards, so time alone is no bound. */
const TURN_ENTRIES = 32;
/** The same while clients connect: the event loop takes one new connection a turn, so turns must be short. */
const TURN_MS_CONNECTING = 1;
const TURN_ENTRIES_CONNECTING = 2;
/** Requests of a connection that count as its first ones. */
const FIRST_REQUESTS = 8;
/** Of so many released entries, one is of the late queue although the early one has some. */
const LATE_EVERY = 4;

/**
 * Lets the event loop breathe when many requests come at once: as much as fits into a few milliseconds is worked on at once, the
 * rest waits for the next turns. Connections that have asked little go first, so that a client which asks without end waits
 * for itself and not others for it. Without a crowd nothing waits.
 */
export class FairTurns {
  readonly #clock: Clock;
  readonly #early: Array<() => void> = [];
  readonly #late: Array<() => void> = [];
  readonly #afterwards: Array<() => void> = [];
  #startedMs: number | undefined;
  #released = 0;
  #connecting = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many wait for their turn. */
  get waiting(): number {
    return this.#early.length + this.#late.length + this.#afterwards.length;
  }

  /** A client has connected; others may be about to. */
  connected(): void {
    this.#connecting = true;
    this.#begin();
  }

  /** Calls `go` now or in a later turn; `asked` is how much this client was served already. */
  enter(asked: number, go: () => void): void {
    if (!this.#hasRequests && this.#hasTime()) return go();
    this.#begin();
    (asked < FIRST_REQUESTS ? this.#early : this.#late).push(go);
  }

  /** Resolves in a later turn, one such promise a turn: for work that nobody has just asked for, as answers after a change. */
  async later(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#begin();
      this.#afterwards.push(resolve);
    });
  }

  #hasTime(): boolean {
    if (this.#startedMs === undefined) this.#begin();
    return this.#clock.monotonic() - (this.#startedMs as number) < (this.#connecting ? TURN_MS_CONNECTING : TURN_MS);
  }

  #begin(): void {
    if (this.#startedMs !== undefined) return;
    this.#startedMs = this.#clock.monotonic();
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#startedMs = undefined;
    const most = this.#connecting ? TURN_ENTRIES_CONNECTING : TURN_ENTRIES;
    this.#connecting = false;
    for (let i = 0; i < most && this.#hasRequests && this.#hasTime(); i++) this.#next()?.();
    this.#afterwards.shift()?.();
    if (this.waiting > 0) this.#begin();
  }

  get #hasRequests(): boolean {
    return this.#early.length + this.#late.length > 0;
  }

  #next(): (() => void) | undefined {
    this.#released += 1;
    const late = this.#early.length === 0 || (this.#released % LATE_EVERY === 0 && this.#late.length > 0);
    return (late ? this.#late : this.#early).shift();
  }
}
