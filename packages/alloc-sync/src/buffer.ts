import type { Logger } from "@outrider/foundation";
import type { AllocSyncOptions, Priority } from "./options.ts";

/** One update on its way. */
export interface Entry<U> {
  readonly id: string;
  readonly update: U;
  /** Whether delivery is worth remembering: false when nobody owned the id at send time. */
  readonly owned: boolean;
}

/** Pending updates and acknowledgements: the newest update of each id, classified when asked. */
export class Buffer<U, A> {
  readonly pending = new Map<string, U>();
  readonly acks = new Map<string, A>();
  pushed = 0;
  replaced = 0;
  unchanged = 0;
  returned = 0;
  readonly #options: AllocSyncOptions<U, A>;
  readonly #logger: Logger;

  constructor(options: AllocSyncOptions<U, A>, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
  }

  push(id: string, update: U): void {
    const before = this.pending.size;
    this.pending.set(id, update);
    this.pushed++;
    if (this.pending.size === before) this.replaced++;
  }

  /**
   * The batch that is due now: empties the buffer, or leaves it untouched and gives nothing when only typical updates wait and it is not
   * their turn.
   */
  take(typicalDue: boolean): Array<Entry<U>> {
    const batch: Array<Entry<U>> = [];
    let urgent = false;
    let unchanged = 0;
    for (const [id, update] of this.pending) {
      const priority = this.#classify(id, update);
      if (priority === "none") {
        unchanged++;
        continue;
      }
      if (priority === "urgent") urgent = true;
      batch.push({ id, update, owned: priority !== "unknown" });
    }
    if (!urgent && !typicalDue) return [];
    this.pending.clear();
    this.unchanged += unchanged;
    return batch;
  }

  /** Puts a failed batch back, except where a newer update has come meanwhile. */
  giveBack(batch: ReadonlyArray<Entry<U>>): void {
    for (const { id, update } of batch) {
      if (this.pending.has(id)) continue;
      this.pending.set(id, update);
      this.returned++;
    }
  }

  #classify(id: string, update: U): Priority {
    try {
      return this.#options.priority(update, this.acks.get(id));
    } catch (err) {
      // Sending once too often is harmless, losing an update is not.
      this.#logger.error({ err, id }, "could not classify an update, sending it");
      return "typical";
    }
  }
}
