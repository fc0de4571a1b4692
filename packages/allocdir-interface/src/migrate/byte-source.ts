/** Gives the bytes of a stream in the portions that are asked for. */
export class ByteSource {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);
  #ended = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#iterator = source[Symbol.asyncIterator]();
  }

  /** Exactly so many bytes, copied; fewer at the end of the stream. */
  async take(count: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    let left = count;
    while (left > 0) {
      const some = await this.some(left);
      if (some.length === 0) break;
      parts.push(some);
      left -= some.length;
    }
    return Buffer.concat(parts);
  }

  /** What there is, at most so many bytes; empty at the end of the stream only. Valid until the next call. */
  async some(most: number): Promise<Uint8Array> {
    while (this.#rest.length === 0 && !this.#ended) {
      const next = await this.#iterator.next();
      if (next.done === true) this.#ended = true;
      else this.#rest = next.value;
    }
    const some = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(some.length);
    return some;
  }

  /** Passes over so many bytes; false when the stream ends before. */
  async skip(count: number): Promise<boolean> {
    for (let left = count; left > 0;) {
      const some = await this.some(left);
      if (some.length === 0) return false;
      left -= some.length;
    }
    return true;
  }

  /** Lets the stream go. */
  async close(): Promise<void> {
    await this.#iterator.return?.();
  }
}
