/** Takes turns between streams, so that one loud task never holds up the others. */

/** Rounds a stream gets before the next one has its turn. */
export const ROUNDS_PER_TURN = 4;

/** Runs queued jobs one a turn of the event loop, each in order of arrival; a job that is queued already is not queued twice. */
export class TurnQueue<T> {
  readonly #run: (item: T) => void;
  readonly #items = new Set<T>();
  #scheduled: NodeJS.Immediate | undefined;

  constructor(run: (item: T) => void) {
    this.#run = run;
  }

  add(item: T): void {
    this.#items.add(item);
    this.#scheduled ??= setImmediate(() => this.#turn());
  }

  remove(item: T): void {
    this.#items.delete(item);
  }

  #turn(): void {
    this.#scheduled = undefined;
    for (const item of this.#items) {
      this.#items.delete(item);
      if (this.#items.size > 0) this.#scheduled = setImmediate(() => this.#turn());
      this.#run(item);
      return;
    }
  }
}
