import { AllocDirError } from "../alloc-dir-error.ts";
import type { FileReader } from "../alloc-dir-fs.ts";
import type { MemoryNode } from "./memory-node.ts";

/** An open file; keeps it although its name goes. */
export class MemoryReader implements FileReader {
  readonly identity: string;
  readonly #node: MemoryNode;
  readonly #signals: readonly AbortSignal[];
  readonly #end: number;
  #position: number;
  #closed = false;

  constructor(node: MemoryNode, offset: number, limit: number | undefined, signals: readonly AbortSignal[]) {
    this.#node = node;
    this.#signals = signals;
    this.#position = offset;
    this.#end = limit === undefined || limit <= 0 ? Number.POSITIVE_INFINITY : offset + limit;
    this.identity = node.identity;
  }

  get position(): number {
    return this.#position;
  }

  // oxlint-disable-next-line require-await -- a failed check is to reject
  async read(max: number): Promise<Uint8Array> {
    this.#check();
    const data = this.#node.slice(this.#position, Math.min(this.#position + max, this.#end));
    this.#position += data.length;
    return data;
  }

  // oxlint-disable-next-line require-await -- a failed check is to reject
  async size(): Promise<number> {
    this.#check();
    return this.#node.size;
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #check(): void {
    for (const signal of this.#signals) signal.throwIfAborted();
    if (this.#closed) throw new AllocDirError("IO", "the file reader is closed", "");
  }
}
