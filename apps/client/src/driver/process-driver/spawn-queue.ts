/** Spawns take milliseconds of this machine each: fifty at once would hold up everything else. */

/** How many are under way at a time: more would take the pool's threads from files. */
const MOST = 2;

/** Begins jobs in order, one a turn of the event loop and never more than two at a time. */
export class SpawnQueue {
  readonly #jobs: Array<() => Promise<void>> = [];
  #running = 0;
  #scheduled = false;

  /** Settles as the job does. */
  add<T>(job: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#jobs.push(() => job().then(resolve, reject));
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= MOST || this.#jobs.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#run();
      this.#schedule();
    });
  }

  async #run(): Promise<void> {
    this.#running += 1;
    await this.#jobs.shift()?.();
    this.#running -= 1;
    this.#schedule();
  }
}
