import { closeSync, openSync, readSync } from "node:fs";

const SPACE = 32;
const NEWLINE = 10;
const ZERO = 48;
const NINE = 57;
/** The kernel gives long files in pieces of a page, minus a line that did not fit: a shorter piece is the end. */
const SURE_END_BYTES = 2048;

/** Reads small kernel files (procfs, cgroupfs) synchronously into one buffer: they never block on a disk, and a thread pool costs ten times more. @internal */
export class KernelFileReader {
  #buffer = Buffer.allocUnsafe(16_384);
  #length = 0;

  /** The bytes of the last reading; valid until the next one. */
  get bytes(): Buffer {
    return this.#buffer;
  }
  get length(): number {
    return this.#length;
  }

  /** Reads a whole file. Throws what the system says (`code` ENOENT, EACCES, ENODEV, ESRCH …). */
  read(path: string): void {
    const fd = openSync(path, "r");
    try {
      this.readOpen(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** Reads a whole file that is open already. */
  readOpen(fd: number): void {
    let length = 0;
    for (;;) {
      const got = readSync(fd, this.#buffer, length, this.#buffer.length - length, length);
      length += got;
      if (got === 0 || length < SURE_END_BYTES) break;
      if (length === this.#buffer.length) this.#buffer = Buffer.concat([this.#buffer], length * 2);
    }
    this.#length = length;
  }

  text(): string {
    return this.#buffer.toString("latin1", 0, this.#length);
  }

  /** The number that the whole file is; `max` is Infinity. `undefined` when it is none. */
  number(): number | undefined {
    if (this.#buffer[0] === 109) return Infinity;
    return this.#length > 0 ? this.numberAt(0) : undefined;
  }

  /** The unsigned number that starts at an offset; `undefined` when none does. */
  numberAt(offset: number): number | undefined {
    let value = 0;
    let i = offset;
    for (; i < this.#length; i++) {
      const byte = this.#buffer[i] as number;
      if (byte < ZERO || byte > NINE) break;
      value = value * 10 + (byte - ZERO);
    }
    return i === offset ? undefined : value;
  }

  /** Picks values out of a file of `key value` lines, in the order of the keys. */
  flat(keys: readonly string[]): Array<number | undefined> {
    const values: Array<number | undefined> = Array.from({ length: keys.length });
    let left = keys.length;
    let start = 0;
    while (start < this.#length && left > 0) {
      let space = start;
      while (space < this.#length && this.#buffer[space] !== SPACE && this.#buffer[space] !== NEWLINE) space++;
      const index = this.#keyAt(keys, start, space);
      if (index >= 0 && values[index] === undefined) {
        values[index] = this.numberAt(space + 1);
        left--;
      }
      const end = this.#buffer.indexOf(NEWLINE, space);
      start = end < 0 ? this.#length : end + 1;
    }
    return values;
  }

  #keyAt(keys: readonly string[], start: number, end: number): number {
    for (let k = 0; k < keys.length; k++) {
      const key = keys[k] as string;
      if (key.length !== end - start) continue;
      let i = 0;
      while (i < key.length && key.charCodeAt(i) === this.#buffer[start + i]) i++;
      if (i === key.length) return k;
    }
    return -1;
  }
}

/** The system's code of a failure, for example `ENOENT`. @internal */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/** Whether a failure says that the thing is gone. @internal */
export function isGone(error: unknown): boolean {
  return ["ENOENT", "ENODEV", "ESRCH"].includes(errorCode(error));
}

/** Whether a failure says that it must not be read. @internal */
export function isDenied(error: unknown): boolean {
  return ["EACCES", "EPERM"].includes(errorCode(error));
}
