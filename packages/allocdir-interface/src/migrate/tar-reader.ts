import { AllocDirError } from "../alloc-dir-error.ts";
import type { ByteSource } from "./byte-source.ts";
import { BLOCK_BYTES, padding } from "./tar-format.ts";

/** Longest set of PAX records, bytes. */
const MAX_PAX_BYTES = 1024 * 1024;

/** An entry as an archive tells it; nothing of it has been checked but its form. */
export interface TarEntry {
  readonly name: string;
  /** The format's letter: `0` a regular file, `2` a link, `5` a directory. */
  readonly flag: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Seconds since the epoch. */
  readonly mtime: number;
  readonly linkname: string;
}

const malformed = (what: string): AllocDirError =>
  new AllocDirError("ARCHIVE_FORMAT", `the archive is malformed: ${what}`, "", { details: { text: what } });

const truncated = (): AllocDirError => new AllocDirError("ARCHIVE_TRUNCATED", "the archive ends before its end", "");

/** Reads the headers of an archive one after another; the caller takes or skips the content in between. */
export class TarReader {
  readonly #source: ByteSource;
  #left = 0;
  #padding = 0;
  #trailer = false;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Whether the two blocks that end an archive have come. */
  get sawTrailer(): boolean {
    return this.#trailer;
  }

  /** The next entry; undefined at the end. What was left of the last one's content is passed over. */
  async next(): Promise<TarEntry | undefined> {
    if (!(await this.#source.skip(this.#left + this.#padding))) throw truncated();
    this.#left = this.#padding = 0;
    let pax: ReadonlyMap<string, string> = new Map();
    for (;;) {
      const block = await this.#source.take(BLOCK_BYTES);
      if (block.length === 0 && pax.size === 0) return undefined;
      if (block.length < BLOCK_BYTES) throw truncated();
      if (block.every((byte) => byte === 0)) return this.#end(pax);
      const entry = parseHeader(block, pax);
      if (entry.flag === "x") {
        pax = await this.#records(entry.size);
        continue;
      }
      this.#left = entry.size;
      this.#padding = padding(entry.size);
      return entry;
    }
  }

  /** The next bytes of the entry's content; undefined after the last. Valid until the next call. */
  async content(): Promise<Uint8Array | undefined> {
    if (this.#left === 0) return undefined;
    const some = await this.#source.some(this.#left);
    if (some.length === 0) throw truncated();
    this.#left -= some.length;
    return some;
  }

  async #end(pax: ReadonlyMap<string, string>): Promise<undefined> {
    if (pax.size > 0) throw malformed("records without an entry");
    const second = await this.#source.take(BLOCK_BYTES);
    if (second.length < BLOCK_BYTES) throw truncated();
    if (second.some((byte) => byte !== 0)) throw malformed("one empty block in the middle");
    this.#trailer = true;
    return undefined;
  }

  async #records(size: number): Promise<ReadonlyMap<string, string>> {
    if (size > MAX_PAX_BYTES)
      throw new AllocDirError("ARCHIVE_LIMIT", `records of ${size} bytes are longer than ${MAX_PAX_BYTES}`, "");
    const bytes = await this.#source.take(size);
    if (bytes.length < size || !(await this.#source.skip(padding(size)))) throw truncated();
    return parseRecords(bytes);
  }
}

function parseRecords(bytes: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length;) {
    const blank = bytes.indexOf(0x20, at);
    const digits = bytes.toString("latin1", at, Math.max(at, Math.min(blank, at + 8)));
    const end = at + Number(digits);
    const equals = bytes.indexOf(0x3d, blank);
    if (!/^[1-9]\d*$/.test(digits) || end > bytes.length || equals < 0 || equals >= end || bytes[end - 1] !== 0x0a)
      throw malformed("a record without its form");
    const key = bytes.toString("utf8", blank + 1, equals);
    if (key.startsWith("GNU.sparse")) throw new AllocDirError("ARCHIVE_TYPE", "the archive holds a sparse file", "");
    records.set(key, bytes.toString("utf8", equals + 1, end - 1));
    at = end;
  }
  return records;
}

function parseHeader(block: Buffer, pax: ReadonlyMap<string, string>): TarEntry {
  let sum = 0;
  for (let i = 0; i < BLOCK_BYTES; i++) sum += i >= 148 && i < 156 ? 0x20 : (block[i] as number);
  if (numeric(block, 148, 8, "checksum") !== sum) throw malformed("a header with a wrong checksum");
  const flag = block[156] === 0 ? "0" : String.fromCharCode(block[156] as number);
  const isUstar = block.toString("latin1", 257, 262) === "ustar";
  const prefix = isUstar && block.toString("latin1", 262, 264) !== " \0" ? text(block, 345, 155) : "";
  const plain = text(block, 0, 100);
  const fromPax = (key: string, fallback: () => number): number => {
    const value = pax.get(key);
    if (value === undefined) return fallback();
    const number = Number(value);
    if (value.trim() === "" || !Number.isFinite(number))
      throw malformed(`${key} ${JSON.stringify(value.slice(0, 40))}`);
    return Math.floor(number);
  };
  const size = fromPax("size", () => numeric(block, 124, 12, "size"));
  if (!Number.isSafeInteger(size) || size < 0) throw malformed(`size ${size}`);
  return {
    name: pax.get("path") ?? (prefix === "" ? plain : `${prefix}/${plain}`),
    flag,
    mode: numeric(block, 100, 8, "mode"),
    uid: fromPax("uid", () => numeric(block, 108, 8, "uid")),
    gid: fromPax("gid", () => numeric(block, 116, 8, "gid")),
    // Links and directories have no content, whatever their header says.
    size: flag === "0" || flag === "x" || !/^[1-6]$/.test(flag) ? size : 0,
    mtime: fromPax("mtime", () => numeric(block, 136, 12, "mtime")),
    linkname: pax.get("linkpath") ?? text(block, 157, 100),
  };
}

function text(block: Buffer, at: number, width: number): string {
  const end = block.indexOf(0, at);
  return block.toString("utf8", at, end < 0 || end > at + width ? at + width : end);
}

/** Octal digits, or GNU's binary form for large numbers. */
function numeric(block: Buffer, at: number, width: number, what: string): number {
  const first = block[at] as number;
  if ((first & 0x80) !== 0) {
    if ((first & 0x40) !== 0) throw malformed(`a negative ${what}`);
    let value = first & 0x3f;
    for (let i = at + 1; i < at + width; i++) value = value * 256 + (block[i] as number);
    if (!Number.isSafeInteger(value)) throw malformed(`a ${what} beyond all measure`);
    return value;
  }
  const digits = block
    .toString("latin1", at, at + width)
    .replace(/\0.*$/s, "")
    .trim();
  if (!/^[0-7]*$/.test(digits)) throw malformed(`${what} ${JSON.stringify(digits)}`);
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}
