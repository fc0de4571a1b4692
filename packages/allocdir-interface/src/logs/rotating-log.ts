/** One log stream on disk: `<name>.<n>`, the highest number being written. */
import type { Logger } from "@outrider/foundation";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  rmSync,
  writeSync,
} from "node:fs";
import { errnoOf } from "./errors.ts";
import { blindRoom, bytesToTake, LINE_WINDOW_BYTES } from "./line-rule.ts";
import type { LogFolder } from "./log-folder.ts";

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;
const NEWLINE = 0x0a;
/** How many occupied names in a row are skipped before giving up. */
const MAX_SKIPPED = 1000;

/** Bounds of a stream. */
export interface LogLimits {
  /** Files kept, the one being written included; at least 1. */
  readonly maxFiles: number;
  /** Size of a file in bytes; at least 1. */
  readonly maxBytes: number;
}

/** Options of a {@link RotatingLog}. */
export interface RotatingLogOptions extends LogLimits {
  readonly folder: LogFolder;
  /** Name without number, for example `web.stdout`. */
  readonly name: string;
  readonly logger: Logger;
}

/** A file opened for a stream. */
interface OpenLog {
  readonly fd: number;
  readonly index: number;
  readonly stat: Stats;
}

/**
 * Appends at an explicit offset (the file's size), without O_APPEND: a process that dies between two calls leaves nothing to repair, and
 * `splice(2)` is possible. Only regular files with one name are written; anything else that occupies the name is passed over.
 */
export class RotatingLog {
  readonly #folder: LogFolder;
  readonly #name: string;
  readonly #pattern: RegExp;
  readonly #logger: Logger;
  #limits: LogLimits;
  #file: OpenLog;
  #size: number;
  #lineStart: number | undefined;

  /** Continues the highest file, or begins with 0. */
  constructor({ folder, name, logger, maxFiles, maxBytes }: RotatingLogOptions) {
    this.#folder = folder;
    this.#name = name;
    this.#pattern = new RegExp(`^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\.(0|[1-9][0-9]{0,8})$`);
    this.#logger = logger;
    this.#limits = { maxFiles, maxBytes };
    const indexes = this.#indexes();
    this.#file = this.#openFrom(indexes.at(-1) ?? 0, true);
    this.#size = this.#file.stat.size;
    this.#purge();
  }

  /** Descriptor of the file being written. */
  get fd(): number {
    return this.#file.fd;
  }

  /** Where the next byte goes. */
  get size(): number {
    return this.#size;
  }

  /** Number of the file being written. */
  get index(): number {
    return this.#file.index;
  }

  /** New bounds; they count from the next write on. */
  setLimits(limits: LogLimits): void {
    this.#limits = limits;
    this.#purge();
  }

  /** Bytes that may be appended without looking at them. */
  get blindRoom(): number {
    return blindRoom(this.#size, this.#limits.maxBytes);
  }

  /** How many bytes of the piece belong into this file; 0 = call {@link rotate} first. */
  take(piece: Uint8Array): number {
    const blind = this.blindRoom;
    if (blind >= piece.length) return piece.length;
    if (blind > 0) return blind;
    this.#lineStart ??= this.#findLineStart();
    return bytesToTake(piece, { size: this.#size, maxBytes: this.#limits.maxBytes, lineStart: this.#lineStart });
  }

  /** Counts bytes that were moved into the file at `size`. `piece` is their content, if the caller knows it. */
  advance(count: number, piece?: Uint8Array): void {
    const before = this.#size;
    this.#size += count;
    if (piece === undefined || this.#lineStart === undefined) {
      this.#lineStart = undefined;
      return;
    }
    const newline = piece.subarray(0, count).lastIndexOf(NEWLINE);
    if (newline >= 0) this.#lineStart = before + newline + 1;
  }

  /** Writes all of a piece, rotating where needed. On failure the error carries how much was written: see {@link PartialWriteError}. */
  write(piece: Uint8Array): void {
    let done = 0;
    try {
      while (done < piece.length) {
        const rest = piece.subarray(done);
        const count = this.take(rest);
        if (count === 0) {
          this.rotate();
          continue;
        }
        const wrote = writeSync(this.fd, rest, 0, count, this.#size);
        this.advance(wrote, rest.subarray(0, wrote));
        done += wrote;
      }
    } catch (reason) {
      throw new PartialWriteError(done, reason);
    }
  }

  /** Goes on to the next number that is free or not full, and removes what is too old. */
  rotate(): void {
    const next = this.#openFrom(this.#file.index + 1, false);
    closeSync(this.#file.fd);
    this.#use(next);
    this.#purge();
  }

  /** Notices that the file was deleted, moved away, cut or added to by somebody, and adapts. Returns whether anything was done. */
  check(): boolean {
    const now = fstatSync(this.fd);
    const named = this.#lstat(this.#file.index);
    if (now.nlink === 0 || named === undefined || named.ino !== now.ino || named.dev !== now.dev) {
      const next = this.#openFrom(this.#file.index, true);
      closeSync(this.#file.fd);
      this.#use(next);
      return true;
    }
    if (now.size === this.#size) return false;
    this.#size = now.size;
    this.#lineStart = undefined;
    return true;
  }

  close(): void {
    closeSync(this.#file.fd);
  }

  #use(file: OpenLog): void {
    this.#file = file;
    this.#size = file.stat.size;
    this.#lineStart = undefined;
  }

  #findLineStart(): number {
    const length = Math.min(this.#size, LINE_WINDOW_BYTES);
    const tail = Buffer.alloc(length);
    const read = readSync(this.fd, tail, 0, length, this.#size - length);
    const newline = tail.subarray(0, read).lastIndexOf(NEWLINE);
    return newline < 0 ? this.#size - length : this.#size - length + newline + 1;
  }

  /** Opens number `from` or the next one that can be written. A full file is passed over unless `full` allows it. */
  #openFrom(from: number, full: boolean): OpenLog {
    for (let index = from; index < from + MAX_SKIPPED; index++) {
      const found = this.#tryOpen(index);
      if (found === undefined) continue;
      if (full || found.stat.size < this.#limits.maxBytes) return found;
      closeSync(found.fd);
    }
    throw Object.assign(new Error(`logs: no free number for ${this.#name} from ${from} on`), { code: "EEXIST" });
  }

  #tryOpen(index: number): OpenLog | undefined {
    const name = `${this.#name}.${index}`;
    let fd: number;
    try {
      fd = openSync(this.#folder.at(name), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644);
    } catch (reason) {
      if (!/^(ELOOP|EISDIR|ENXIO|ENOTDIR|EMLINK|ENODEV)$/.test(errnoOf(reason))) throw reason;
      this.#logger.warn({ file: name, err: reason }, "log file name is taken by something else; using the next one");
      return undefined;
    }
    const stat = fstatSync(fd);
    if (stat.isFile() && stat.nlink === 1) return { fd, index, stat };
    closeSync(fd);
    this.#logger.warn({ file: name, links: stat.nlink }, "log file is no plain file of its own; using the next one");
    return undefined;
  }

  #lstat(index: number): Stats | undefined {
    return lstatSync(this.#folder.at(`${this.#name}.${index}`), { throwIfNoEntry: false });
  }

  /** Numbers of the regular files of this stream, ascending. */
  #indexes(): number[] {
    const found: number[] = [];
    for (const name of readdirSync(this.#folder.self)) {
      const match = this.#pattern.exec(name);
      if (match !== null && this.#lstat(Number(match[1]))?.isFile() === true) found.push(Number(match[1]));
    }
    return found.sort((a, b) => a - b);
  }

  #purge(): void {
    for (const index of this.#indexes().slice(0, -this.#limits.maxFiles)) {
      if (index === this.#file.index) continue;
      try {
        rmSync(this.#folder.at(`${this.#name}.${index}`), { force: true });
      } catch (reason) {
        this.#logger.warn({ err: reason, index }, "cannot remove an old log file");
      }
    }
  }
}

/** A write that stopped half way. */
export class PartialWriteError extends Error {
  /** Bytes of the piece that are in the file. */
  readonly written: number;

  constructor(written: number, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.written = written;
  }

  get code(): string {
    return errnoOf(this.cause);
  }
}
