import type { BigIntStats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { AllocDirError } from "../alloc-dir-error.ts";
import type { FileReader } from "../alloc-dir-fs.ts";

/** What tells one file from another, whatever their names. */
export const identityOf = (stats: BigIntStats): string => `${stats.dev}:${stats.ino}`;

/** How a {@link HandleReader} reads. */
export interface HandleReaderOptions {
  readonly handle: FileHandle;
  readonly stats: BigIntStats;
  readonly offset: number;
  /** Bytes until it reads as if the file ended. */
  readonly limit: number;
  /** Each of them ends the reader. */
  readonly signals: readonly AbortSignal[];
}

/** Reads an open file from an offset on. */
export class HandleReader implements FileReader {
  readonly identity: string;
  readonly #signals: readonly AbortSignal[];
  readonly #onAbort = (): void => void this.close();
  #handle: FileHandle | undefined;
  #position: number;
  #left: number;

  constructor(o: HandleReaderOptions) {
    this.#handle = o.handle;
    this.identity = identityOf(o.stats);
    this.#position = o.offset;
    this.#left = o.limit;
    this.#signals = o.signals;
    for (const signal of o.signals) signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  get position(): number {
    return this.#position;
  }

  #open(): FileHandle {
    for (const signal of this.#signals) signal.throwIfAborted();
    if (this.#handle === undefined) throw new AllocDirError("IO", "the file reader is closed", "");
    return this.#handle;
  }

  async read(max: number): Promise<Uint8Array> {
    const handle = this.#open();
    const most = Math.min(max, this.#left);
    const buffer = Buffer.allocUnsafe(most);
    const { bytesRead } = await handle.read(buffer, 0, most, this.#position);
    this.#position += bytesRead;
    this.#left -= bytesRead;
    return buffer.subarray(0, bytesRead);
  }

  async size(): Promise<number> {
    return Number((await this.#open().stat({ bigint: true })).size);
  }

  async close(): Promise<void> {
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#onAbort);
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
