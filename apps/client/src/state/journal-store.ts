import { join } from "node:path";
import { noopLogger, OutriderError, type Logger } from "@outrider/foundation";
import { applyBatch, batchToJson, encodeBatch, isNoop, type EncodedBatch } from "./journal-batch.ts";
import { nodeJournalFs, type JournalFs } from "./journal-fs.ts";
import { Journal } from "./journal.ts";
import { loadJournal, type QuarantinedRecord } from "./journal-load.ts";
import type { StateBatch, StateStore } from "./state-store.ts";

/** Options of {@link openJournalStore}. */
export interface JournalStoreOptions {
  /** Folder of the journal; it must exist and be held by a lock (`data-dir.ts`). */
  readonly dir: string;
  readonly fs?: JournalFs;
  readonly logger?: Logger;
  /** File size below which no compaction happens. Default 1 MiB. */
  readonly compactAboveBytes?: number;
  /** Bytes kept on disk to be freed for urgent writes. Default 65536; 0 for none. */
  readonly reserveBytes?: number;
  /** Most batches written with one fdatasync. Default 512. */
  readonly maxGroup?: number;
}

interface Waiting {
  readonly batch: EncodedBatch;
  readonly urgent: boolean;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Opens (or creates) a durable store in a folder. Rejects with ERR_OUTRIDER_STATE_NEWER for a format of a later version. */
export async function openJournalStore(options: JournalStoreOptions): Promise<StateStore> {
  const fs = options.fs ?? nodeJournalFs;
  const logger = options.logger ?? noopLogger;
  const path = join(options.dir, "state.journal");
  const loaded = await loadJournal(path, fs, logger);
  const journal = await Journal.open({
    path,
    fs,
    logger,
    loaded,
    compactAboveBytes: options.compactAboveBytes ?? 1024 * 1024,
    reserveBytes: options.reserveBytes ?? 64 * 1024,
  });
  return new JournalStore(journal, loaded.map, loaded.quarantined, options.maxGroup ?? 512);
}

class JournalStore implements StateStore {
  readonly quarantined: readonly QuarantinedRecord[];
  readonly #journal: Journal;
  readonly #map: Map<string, string>;
  readonly #maxGroup: number;
  #queue: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  #closed = false;

  constructor(journal: Journal, map: Map<string, string>, quarantined: readonly QuarantinedRecord[], maxGroup: number) {
    this.#journal = journal;
    this.#map = map;
    this.quarantined = quarantined;
    this.#maxGroup = maxGroup;
  }

  get<T>(key: string): T | undefined {
    const json = this.#map.get(key);
    return json === undefined ? undefined : (JSON.parse(json) as T);
  }

  list<T>(prefix: string): Array<[key: string, value: T]> {
    const keys = [...this.#map.keys()].filter((key) => key.startsWith(prefix)).sort();
    return keys.map((key) => [key, JSON.parse(this.#map.get(key) as string) as T]);
  }

  write(batch: StateBatch): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(new OutriderError("ERR_OUTRIDER_STATE_CLOSED", "state: store is closed"));
        return;
      }
      this.#queue.push({ batch: encodeBatch(batch), urgent: batch.urgent ?? false, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#flushing;
    await this.#journal.close();
  }

  async #flush(): Promise<void> {
    // One turn later, so that writes made together share one fdatasync.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const group = this.#queue.splice(0, this.#maxGroup);
      await this.#commit(group);
      await this.#journal.compactIfWorthIt(this.#map);
    }
    // In the same turn as the check of the queue: a write in between would wait for ever.
    this.#flushing = undefined;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const changes = group.length === 1 ? group.filter((w) => !isNoop(this.#map, w.batch)) : group;
    try {
      if (changes.length > 0) {
        await this.#journal.append(
          changes.map((w) => batchToJson(w.batch)),
          { urgent: changes.some((w) => w.urgent), map: this.#map },
        );
      }
    } catch (reason) {
      // What does not fit together may fit one by one: each caller gets its own answer.
      if (group.length > 1 && isFull(reason)) {
        for (const one of group) await this.#commit([one]);
        return;
      }
      for (const { reject } of group) reject(reason);
      return;
    }
    for (const { batch, resolve } of group) {
      applyBatch(this.#map, batch);
      resolve();
    }
  }
}

function isFull(reason: unknown): boolean {
  return reason instanceof OutriderError && reason.code === "ERR_OUTRIDER_STATE_FULL";
}
