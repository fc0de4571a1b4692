/** The system calls that logs and pseudo-terminals need, by way of koffi, when that optional dependency is installed. */
import type { NativeLogIo, ReadinessPoller } from "@outrider/allocdir-interface/logs";
import type { Logger } from "@outrider/foundation";
import { closeSync, readSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { type Koffi, loadKoffi, type NativeFunction } from "./load-koffi.ts";

const SPLICE_F_NONBLOCK = 2;
const O_NONBLOCK_CLOEXEC = 0o2004000;
const EPOLL_CTL_ADD = 1;
const EPOLL_CTL_DEL = 2;
const EPOLL_CTL_MOD = 3;
const EPOLLIN_ONESHOT = 0x40000001;
const EPOLL_CLOEXEC = 0o2000000;
const MAX_EVENTS = 64;
const POLL_MS = 1_000;

const errnoNames = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));

/** Loads koffi and binds the calls; `undefined`, with a line in the log, where it is not available. */
export function loadNativeIo(logger: Logger): NativeLogIo | undefined {
  try {
    return new KoffiIo(loadKoffi());
  } catch (reason) {
    logger.info(
      { err: reason },
      "koffi is not available: log bytes in flight are lost when the driver process is killed",
    );
    return undefined;
  }
}

class KoffiIo implements NativeLogIo {
  readonly #koffi: Koffi;
  readonly #splice: NativeFunction;
  readonly #tee: NativeFunction;
  readonly #pipe2: NativeFunction;
  readonly #mkfifo: NativeFunction;
  readonly #epoll: EpollCalls;
  readonly #offset = new BigInt64Array(1);

  constructor(koffi: Koffi) {
    this.#koffi = koffi;
    // null: the running program, which holds the C library, glibc or musl
    const libc = koffi.load(null);
    this.#splice = libc.func(
      "long splice(int in, void *inOffset, int out, int64_t *outOffset, size_t length, unsigned int flags)",
    );
    this.#tee = libc.func("long tee(int in, int out, size_t length, unsigned int flags)");
    this.#pipe2 = libc.func("int pipe2(int *ends, int flags)");
    this.#mkfifo = libc.func("int mkfifo(const char *path, unsigned int mode)");
    this.#epoll = {
      create: libc.func("int epoll_create1(int flags)"),
      control: libc.func("int epoll_ctl(int epoll, int operation, int fd, uint8_t *event)"),
      wait: libc.func("int epoll_wait(int epoll, uint8_t *events, int most, int timeout)"),
    };
  }

  mkfifo(path: string, mode: number): void {
    if (this.#mkfifo(path, mode) !== 0) throw this.#error("mkfifo");
  }

  splice(fromPipe: number, toFile: number, offset: number, most: number): number {
    this.#offset[0] = BigInt(offset);
    const count = this.#splice(fromPipe, null, toFile, this.#offset, most, SPLICE_F_NONBLOCK);
    return count < 0 ? this.#again("splice") : Number(count);
  }

  tee(fromPipe: number, toPipe: number, most: number): number {
    const count = this.#tee(fromPipe, toPipe, most, SPLICE_F_NONBLOCK);
    return count < 0 ? this.#again("tee") : Number(count);
  }

  pipe(): [number, number] {
    const ends = new Int32Array(2);
    if (this.#pipe2(ends, O_NONBLOCK_CLOEXEC) !== 0) throw this.#error("pipe2");
    return [ends[0] as number, ends[1] as number];
  }

  createPoller(): ReadinessPoller {
    const epoll = this.#epoll.create(EPOLL_CLOEXEC);
    if (epoll < 0) throw this.#error("epoll_create1");
    return new EpollPoller(epoll, this.#epoll, this.pipe(), (call) => this.#error(call));
  }

  #again(call: string): number {
    if (this.#koffi.errno() === constants.errno.EAGAIN) return -1;
    throw this.#error(call);
  }

  #error(call: string): NodeJS.ErrnoException {
    const errno = this.#koffi.errno();
    const code = errnoNames.get(errno) ?? `E${errno}`;
    return Object.assign(new Error(`${call}: ${code}`), { code, errno, syscall: call });
  }
}

interface EpollCalls {
  readonly create: NativeFunction;
  readonly control: NativeFunction;
  readonly wait: NativeFunction;
}

/** One thread of the pool waits for all fifos; a private pipe wakes it up. */
class EpollPoller implements ReadinessPoller {
  readonly #epoll: number;
  readonly #calls: EpollCalls;
  readonly #wake: [number, number];
  readonly #fail: (call: string) => Error;
  readonly #listeners = new Map<number, () => void>();
  readonly #events: Buffer;
  readonly #event: Buffer;
  readonly #wakes = Buffer.alloc(64);
  readonly #layout: { readonly size: number; readonly data: number };
  #waiting = false;
  #closed = false;

  constructor(epoll: number, calls: EpollCalls, wake: [number, number], fail: (call: string) => Error) {
    this.#epoll = epoll;
    this.#calls = calls;
    this.#wake = wake;
    this.#fail = fail;
    // struct epoll_event is packed on x86-64 only
    this.#layout = process.arch === "x64" ? { size: 12, data: 4 } : { size: 16, data: 8 };
    this.#events = Buffer.alloc(this.#layout.size * MAX_EVENTS);
    this.#event = Buffer.alloc(this.#layout.size);
    this.#control(EPOLL_CTL_ADD, wake[0]);
  }

  add(fd: number, onReadable: () => void): void {
    this.#listeners.set(fd, onReadable);
    this.#control(EPOLL_CTL_ADD, fd);
    this.#wait();
  }

  rearm(fd: number): void {
    if (this.#listeners.has(fd)) this.#control(EPOLL_CTL_MOD, fd);
  }

  remove(fd: number): void {
    if (!this.#listeners.delete(fd)) return;
    this.#control(EPOLL_CTL_DEL, fd);
    if (this.#listeners.size === 0) this.#nudge();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listeners.clear();
    this.#nudge();
    if (!this.#waiting) this.#release();
  }

  #control(operation: number, fd: number): void {
    this.#event.writeUInt32LE(EPOLLIN_ONESHOT, 0);
    this.#event.writeInt32LE(fd, this.#layout.data);
    if (this.#calls.control(this.#epoll, operation, fd, this.#event) !== 0) throw this.#fail("epoll_ctl");
  }

  /** Ends the wait that is running: the process can then end, too. */
  #nudge(): void {
    if (this.#waiting) writeSync(this.#wake[1], "x");
  }

  #wait(): void {
    if (this.#waiting || this.#closed || this.#listeners.size === 0) return;
    this.#waiting = true;
    this.#calls.wait.async(this.#epoll, this.#events, MAX_EVENTS, POLL_MS, (_error: unknown, count: number) => {
      this.#waiting = false;
      if (this.#closed) {
        this.#release();
        return;
      }
      this.#dispatch(count);
      this.#wait();
    });
  }

  #dispatch(count: number): void {
    for (let index = 0; index < count; index++) {
      const fd = this.#events.readInt32LE(index * this.#layout.size + this.#layout.data);
      if (fd === this.#wake[0]) this.#drain();
      else this.#listeners.get(fd)?.();
    }
  }

  /** A byte that stayed in the pipe would end every later wait at once. */
  #drain(): void {
    // what does not fit ends the next wait
    readSync(this.#wake[0], this.#wakes);
    this.#control(EPOLL_CTL_MOD, this.#wake[0]);
  }

  #release(): void {
    for (const fd of [...this.#wake, this.#epoll]) closeSync(fd);
  }
}
