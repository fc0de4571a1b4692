import { readSync } from "node:fs";
import { padding } from "./tar-format.ts";

/** Size of the pieces in which an archive is handed on, bytes. */
export const CHUNK_BYTES: number = 256 * 1024;

/** Takes pieces of an archive; may block, and may throw to break off. The piece is the taker's to keep. */
export type ChunkSink = (chunk: Uint8Array<ArrayBuffer>) => void;

/** Gathers an archive into pieces of one size, so that small files cost no message each. */
export class ChunkWriter {
  readonly #sink: ChunkSink;
  #chunk: Uint8Array<ArrayBuffer> | undefined;
  #used = 0;

  constructor(sink: ChunkSink) {
    this.#sink = sink;
  }

  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const room = this.#room();
      const count = Math.min(room.length, bytes.length - at);
      room.set(bytes.subarray(at, at + count));
      at += count;
      this.#used += count;
    }
  }

  zeros(count: number): void {
    for (let left = count; left > 0;) {
      const room = this.#room();
      const some = Math.min(room.length, left);
      room.fill(0, 0, some);
      left -= some;
      this.#used += some;
    }
  }

  /**
   * So many bytes from a descriptor's position on, and up to the next whole block. Gives the bytes there were: what is missing, or cannot be
   * read, becomes zeros, since the size stands in the header already.
   */
  copy(fd: number, size: number): number {
    let left = size;
    try {
      while (left > 0) {
        const room = this.#room();
        const count = readSync(fd, room, 0, Math.min(room.length, left), null);
        if (count === 0) break;
        left -= count;
        this.#used += count;
      }
    } finally {
      this.zeros(left + padding(size));
    }
    return size - left;
  }

  flush(): void {
    if (this.#chunk === undefined || this.#used === 0) return;
    const whole = this.#chunk;
    this.#chunk = undefined;
    this.#sink(whole.subarray(0, this.#used));
  }

  #room(): Uint8Array<ArrayBuffer> {
    if (this.#chunk !== undefined && this.#used === CHUNK_BYTES) this.flush();
    if (this.#chunk === undefined) {
      // Own memory, not the pool's: it goes to another thread as a whole.
      this.#chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      this.#used = 0;
    }
    return this.#chunk.subarray(this.#used);
  }
}
