import { dirname } from "node:path";
import { OutriderError, type Logger } from "@outrider/foundation";
import { encodeRecord, JOURNAL_FORMAT } from "./journal-format.ts";
import type { JournalFile, JournalFs } from "./journal-fs.ts";
import type { LoadedJournal } from "./journal-load.ts";

interface JournalOptions {
  readonly path: string;
  readonly fs: JournalFs;
  readonly logger: Logger;
  readonly loaded: LoadedJournal;
  readonly compactAboveBytes: number;
  readonly reserveBytes: number;
}

/** Largest share of a snapshot put into one record. */
const SNAPSHOT_CHUNK = 256 * 1024;

/**
 * The file behind a store: appends durable records, cuts failed ones off, and replaces itself by a snapshot.
 * One caller at a time (the store's flush loop).
 */
export class Journal {
  readonly #o: JournalOptions;
  #file: JournalFile | undefined;
  #end = 0;
  #baseline = 0;
  #reserve = false;
  #broken: OutriderError | undefined;

  private constructor(o: JournalOptions) {
    this.#o = o;
  }

  /** Cuts a torn tail, or writes the file anew when it is missing or damaged. */
  static async open(o: JournalOptions): Promise<Journal> {
    const journal = new Journal(o);
    if (o.loaded.rewrite) {
      await journal.#snapshot(o.loaded.map);
    } else {
      const file = await o.fs.open(o.path, { create: false });
      try {
        await file.truncate(o.loaded.goodEnd);
        await file.datasync();
      } catch (reason) {
        await file.close();
        throw failure(reason, o.path);
      }
      journal.#file = file;
      journal.#end = o.loaded.goodEnd;
      journal.#baseline = sizeOf(o.loaded.map);
    }
    await journal.#makeReserve();
    return journal;
  }

  /** Makes these batches durable as one record, or changes nothing and rejects. */
  async append(
    batches: readonly string[],
    o: { readonly urgent: boolean; readonly map: ReadonlyMap<string, string> },
  ): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    const record = encodeRecord(`[${batches.join(",")}]`);
    try {
      await this.#appendRecord(record, o.map);
    } catch (reason) {
      if (!isFull(reason) || !o.urgent || !this.#reserve) throw reason;
      this.#o.logger.warn(
        { path: this.#o.path },
        "disk is full: the reserve is spent on a state that must not be lost",
      );
      await this.#o.fs.remove(this.#reservePath);
      this.#reserve = false;
      await this.#appendRecord(record, o.map);
    }
  }

  /** Replaces the file by a snapshot when most of it is history. A full disk is no failure: it is tried again later. */
  async compactIfWorthIt(map: ReadonlyMap<string, string>): Promise<void> {
    if (this.#broken !== undefined || this.#end < this.#o.compactAboveBytes || this.#end < 4 * this.#baseline) return;
    try {
      await this.#snapshot(map);
      await this.#makeReserve();
    } catch (reason) {
      // Not before the file has grown by half again, or a full disk would be hammered.
      this.#baseline = Math.max(this.#baseline, Math.ceil((this.#end * 1.5) / 4));
      this.#o.logger.warn(
        { path: this.#o.path, err: reason },
        "state journal could not be compacted; it goes on growing",
      );
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #appendRecord(record: Buffer, map: ReadonlyMap<string, string>): Promise<void> {
    const file = this.#file as JournalFile;
    try {
      await file.write(record, this.#end);
    } catch (reason) {
      try {
        await file.truncate(this.#end);
        await file.datasync();
      } catch (again) {
        await this.#replace(map, again);
      }
      throw failure(reason, this.#o.path);
    }
    try {
      await file.datasync();
    } catch (reason) {
      // After a failed sync the kernel may have dropped the pages: this descriptor can no longer be believed.
      await this.#replace(map, reason);
      throw failure(reason, this.#o.path);
    }
    this.#end += record.length;
  }

  async #replace(map: ReadonlyMap<string, string>, cause: unknown): Promise<void> {
    this.#o.logger.error(
      { path: this.#o.path, err: cause },
      "state journal cannot be trusted after a disk error; writing it anew",
    );
    try {
      await this.#snapshot(map);
    } catch (again) {
      // What was refused must not be there after a restart, as far as the disk still obeys.
      await this.#file?.truncate(this.#end).catch(() => undefined);
      this.#broken = new OutriderError(
        "ERR_OUTRIDER_STATE_READ_ONLY",
        "state: the disk failed and no new journal could be written; state is read-only until restart",
        {
          cause: again,
          details: { path: this.#o.path },
        },
      );
      this.#o.logger.error({ path: this.#o.path, err: again }, "state is read-only: no new journal could be written");
    }
  }

  async #snapshot(map: ReadonlyMap<string, string>): Promise<void> {
    const temporary = `${this.#o.path}.new`;
    const file = await this.#o.fs.open(temporary, { create: true });
    let end = 0;
    try {
      for (const record of snapshotRecords(map)) {
        await file.write(record, end);
        end += record.length;
      }
      await file.datasync();
      await this.#o.fs.rename(temporary, this.#o.path);
    } catch (reason) {
      await file.close().catch(() => undefined);
      await this.#o.fs.remove(temporary).catch(() => undefined);
      throw reason;
    }
    // From here the old file has no name any more, so the new one is the journal whatever comes.
    const old = this.#file;
    this.#file = file;
    this.#end = end;
    this.#baseline = sizeOf(map);
    await old?.close().catch(() => undefined);
    try {
      await this.#o.fs.syncDir(dirname(this.#o.path));
    } catch (cause) {
      this.#broken = new OutriderError(
        "ERR_OUTRIDER_STATE_READ_ONLY",
        "state: the folder of the journal could not be synced; state is read-only until restart",
        { cause },
      );
      throw this.#broken;
    }
  }

  get #reservePath(): string {
    return `${this.#o.path}.reserve`;
  }

  async #makeReserve(): Promise<void> {
    if (this.#reserve || this.#o.reserveBytes === 0) return;
    try {
      const file = await this.#o.fs.open(this.#reservePath, { create: true });
      try {
        await file.write(Buffer.alloc(this.#o.reserveBytes, 0x52), 0);
        await file.datasync();
      } finally {
        await file.close();
      }
      this.#reserve = true;
    } catch (reason) {
      await this.#o.fs.remove(this.#reservePath).catch(() => undefined);
      this.#o.logger.warn(
        { path: this.#reservePath, err: reason },
        "no disk space for the reserve of the state journal",
      );
    }
  }
}

function* snapshotRecords(map: ReadonlyMap<string, string>): Iterable<Buffer> {
  yield encodeRecord(JSON.stringify({ format: JOURNAL_FORMAT }));
  let puts: string[] = [];
  let size = 0;
  for (const [key, json] of map) {
    puts.push(`${JSON.stringify(key)}:${json}`);
    size += key.length + json.length;
    if (size >= SNAPSHOT_CHUNK) {
      yield encodeRecord(`[{"p":{${puts.join(",")}}}]`);
      puts = [];
      size = 0;
    }
  }
  if (puts.length > 0) yield encodeRecord(`[{"p":{${puts.join(",")}}}]`);
}

function sizeOf(map: ReadonlyMap<string, string>): number {
  let size = 0;
  for (const [key, json] of map) size += key.length + json.length;
  return size;
}

function isFull(reason: unknown): boolean {
  return reason instanceof OutriderError && reason.code === "ERR_OUTRIDER_STATE_FULL";
}

function failure(reason: unknown, path: string): OutriderError {
  const code = (reason as NodeJS.ErrnoException).code;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new OutriderError("ERR_OUTRIDER_STATE_FULL", "state: no space left on the disk of the data folder", {
      cause: reason,
      recoverable: true,
      details: { path },
    });
  }
  return new OutriderError("ERR_OUTRIDER_STATE_IO", `state: write failed (${code ?? "unknown error"})`, {
    cause: reason,
    recoverable: true,
    details: { path },
  });
}
