/** Keeps the last lines of bytes that come in pieces. */
export class LastLines {
  #chunks: Buffer[] = [];
  #breaks = 0;
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  add(data: Buffer): void {
    this.#chunks.push(data);
    this.#breaks += breaksIn(data);
    // Whole chunks before the wanted lines are dropped, so that a long log stays small here.
    let first = this.#chunks[0];
    while (this.#chunks.length > 1 && first !== undefined && this.#breaks - breaksIn(first) > this.#count + 1) {
      this.#breaks -= breaksIn(first);
      this.#chunks.shift();
      first = this.#chunks[0];
    }
  }

  /** The last lines, whole; a last line without its end counts as one. */
  take(): Buffer {
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [];
    if (this.#count === 0) return Buffer.alloc(0);
    let at = all.at(-1) === 10 ? all.length - 1 : all.length;
    for (let left = this.#count; left > 0 && at >= 0; left--) at = at === 0 ? -1 : all.lastIndexOf(10, at - 1);
    return all.subarray(at + 1);
  }
}

function breaksIn(data: Buffer): number {
  let n = 0;
  for (let at = data.indexOf(10); at >= 0; at = data.indexOf(10, at + 1)) n++;
  return n;
}
