import type { Allocation } from "@outrider/nomad-structs";

export interface NewestUpdateOptions {
  readonly apply: (alloc: Allocation) => Promise<void>;
  /** Whether updates come to nothing now. */
  readonly isOver: () => boolean;
}

/** Has a server's versions of an allocation applied one at a time; of those that wait the newest alone. */
export class NewestUpdate {
  readonly #o: NewestUpdateOptions;
  #waiting: Allocation | undefined;
  #busy = false;

  constructor(options: NewestUpdateOptions) {
    this.#o = options;
  }

  push(alloc: Allocation): void {
    if (this.#waiting !== undefined && this.#waiting.AllocModifyIndex > alloc.AllocModifyIndex) return;
    this.#waiting = alloc;
    if (this.#busy) return;
    this.#busy = true;
    queueMicrotask(() => void this.#work());
  }

  async #work(): Promise<void> {
    for (;;) {
      const alloc = this.#waiting;
      if (alloc === undefined || this.#o.isOver()) break;
      this.#waiting = undefined;
      await this.#o.apply(alloc);
    }
    this.#busy = false;
  }
}
