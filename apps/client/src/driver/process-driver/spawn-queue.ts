/** One spawn a turn of the event loop: each blocks for some milliseconds, and fifty in a row would hold up everything else. */

/** Runs jobs one a turn, in order. */
export class SpawnQueue {
  readonly #jobs: Array<() => void> = [];
  #scheduled = false;

  /** Resolves to what the job returned, or rejects with what it threw. */
  add<T>(job: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#jobs.push(() => {
        try {
          resolve(job());
        } catch (reason) {
          reject(reason as Error);
        }
      });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#jobs.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#jobs.shift()?.();
      this.#schedule();
    });
  }
}
