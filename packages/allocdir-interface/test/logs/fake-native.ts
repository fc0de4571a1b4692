/** The native calls, played by plain ones: bytes that were only looked at are kept aside and come first. */
import { execFileSync } from "node:child_process";
import { constants, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { NativeLogIo, ReadinessPoller } from "../../src/logs/index.ts";

export class FakeNative implements NativeLogIo {
  readonly #folder: string;
  readonly #aside = new Map<number, Buffer>();
  #pipes = 0;
  /** Thrown by each splice while set. */
  failure: string | undefined;
  splices = 0;
  readonly made: string[] = [];
  readonly poller = new FakePoller(this);

  constructor(folder: string) {
    this.#folder = folder;
  }

  mkfifo(path: string, mode: number): void {
    this.made.push(path);
    execFileSync("mkfifo", ["-m", mode.toString(8), path.replace("/proc/self/", `/proc/${process.pid}/`)]);
  }

  splice(from: number, to: number, offset: number, most: number): number {
    if (this.failure !== undefined) throw Object.assign(new Error(this.failure), { code: this.failure });
    const bytes = this.#fill(from, most);
    if (bytes.length === 0) return -1;
    this.splices++;
    const piece = bytes.subarray(0, most);
    writeSync(to, piece, 0, piece.length, offset);
    this.#aside.set(from, bytes.subarray(piece.length));
    return piece.length;
  }

  tee(from: number, to: number, most: number): number {
    const bytes = this.#fill(from, most).subarray(0, most);
    if (bytes.length === 0) return -1;
    return writeSync(to, bytes);
  }

  pipe(): [number, number] {
    const path = join(this.#folder, `pipe-${this.#pipes++}`);
    execFileSync("mkfifo", [path]);
    const flags = constants.O_RDWR | constants.O_NONBLOCK;
    return [openSync(path, flags), openSync(path, flags)];
  }

  createPoller(): ReadinessPoller {
    return this.poller;
  }

  readable(fd: number): boolean {
    return this.#fill(fd, 1).length > 0;
  }

  #fill(fd: number, most: number): Buffer {
    const aside = this.#aside.get(fd) ?? Buffer.alloc(0);
    if (aside.length >= most) return aside;
    const buffer = Buffer.alloc(64 * 1024);
    let count = 0;
    try {
      count = readSync(fd, buffer, 0, buffer.length, null);
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code !== "EAGAIN") throw reason;
    }
    const all = Buffer.concat([aside, buffer.subarray(0, count)]);
    this.#aside.set(fd, all);
    return all;
  }
}

class FakePoller implements ReadinessPoller {
  readonly #native: FakeNative;
  readonly #armed = new Map<number, () => void>();
  readonly #known = new Map<number, () => void>();
  #timer: NodeJS.Timeout | undefined;
  closed = false;

  constructor(native: FakeNative) {
    this.#native = native;
  }

  add(fd: number, onReadable: () => void): void {
    this.#known.set(fd, onReadable);
    this.rearm(fd);
  }

  rearm(fd: number): void {
    const listener = this.#known.get(fd);
    if (listener !== undefined) this.#armed.set(fd, listener);
    this.#timer ??= setInterval(() => this.#look(), 1);
  }

  remove(fd: number): void {
    this.#known.delete(fd);
    this.#armed.delete(fd);
  }

  close(): void {
    this.closed = true;
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const [fd, listener] of this.#armed) {
      if (!this.#native.readable(fd)) continue;
      this.#armed.delete(fd);
      listener();
    }
  }
}
