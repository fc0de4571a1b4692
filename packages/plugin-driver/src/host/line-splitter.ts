/** Cuts a byte stream into lines without ever holding more than a limit. */

/** Feeds lines to a callback; a line beyond `maxBytes` comes in pieces, marked. */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #onLine: (line: string, piece: boolean) => void;
  #parts: Buffer[] = [];
  #size = 0;
  #inLong = false;

  constructor(maxBytes: number, onLine: (line: string, piece: boolean) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      const at = rest.indexOf(10);
      const take = at < 0 ? rest.length : at;
      const room = this.#maxBytes - this.#size;
      if (take > room) {
        this.#add(rest.subarray(0, room));
        rest = rest.subarray(room);
        this.#inLong = true;
        this.#emit();
        continue;
      }
      this.#add(rest.subarray(0, take));
      if (at < 0) return;
      rest = rest.subarray(at + 1);
      this.#emit();
      this.#inLong = false;
    }
  }

  /** What is left without a line end. */
  end(): void {
    if (this.#size > 0) this.#emit();
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#size += part.length;
  }

  #emit(): void {
    const line = Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#size = 0;
    if (line === "" && this.#inLong) return;
    this.#onLine(line.endsWith("\r") ? line.slice(0, -1) : line, this.#inLong);
  }
}
