/** Folders made at one time: as many as the thread pool has threads. */
const AT_ONCE = 4;

/** Which of those that wait is next: `task` before `allocation`. */
export type TurnKind = "allocation" | "task";

/**
 * Lets few allocations have their folders made at one time, and an allocation that was begun go first: of many that come together the first
 * starts its tasks while folders of the last are still to be made, instead of all of them at the end.
 */
export class BuildTurns {
  readonly #waiting: Readonly<Record<TurnKind, Set<() => void>>> = { task: new Set(), allocation: new Set() };
  #free = AT_ONCE;

  /** Runs `build` when it is its turn. Rejects with the signal's reason when that aborts first. */
  async run(kind: TurnKind, build: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(this.#waiting[kind], signal);
    try {
      await build();
    } finally {
      const { task, allocation } = this.#waiting;
      const [next] = task.size > 0 ? task : allocation;
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  #turn(queue: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        queue.delete(go);
        signal?.removeEventListener("abort", cancel);
      };
      const go = (): void => {
        leave();
        resolve();
      };
      const cancel = (): void => {
        leave();
        reject(signal?.reason as Error);
      };
      queue.add(go);
      signal?.addEventListener("abort", cancel, { once: true });
    });
  }
}

/** The turns of this process: its allocations share one thread pool. */
export const buildTurns = new BuildTurns();
