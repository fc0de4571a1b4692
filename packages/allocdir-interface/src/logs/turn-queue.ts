/** Takes turns between streams, so that one loud task never holds up the others. */

/** Rounds a stream gets before the next one has its turn. */
export const ROUNDS_PER_TURN = 4;

/** Runs queued jobs one a turn of the event loop, each in order of arrival; a job that is queued already is not queued twice. */
export class TurnQueue<T> {
  readonly #run: (item: T) => void;
  readonly #items = new Set<T>();
  #scheduled = false;

  constructor(run: (item: T) => void) {
    this.#run = run;
  }

  add(item: T): void {
    this.#items.add(item);
    this.#schedule();
  }

  remove(item: T): void {
    this.#items.delete(item);
  }

  #schedule(): void {
    if (this.#scheduled || this.#items.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    const [item] = this.#items;
    if (item === undefined) return;
    this.#items.delete(item);
    this.#schedule();
    this.#run(item);
  }
}
