/** One fifo and the files its bytes go to. */
import type { Clock } from "@outrider/backoff";
import { closeSync } from "node:fs";
import { type OnReadOpts, Socket, type SocketConstructorOpts } from "node:net";
import { CopyPump } from "./copy-stream.ts";
import type { NativeLogIo, ReadinessPoller } from "./native-io.ts";
import type { LogSink } from "./sink.ts";
import { CHUNK_BYTES, type PeekPipe, type PumpResult, spliceOnce } from "./splice-stream.ts";
import { ROUNDS_PER_TURN, type TurnQueue } from "./turn-queue.ts";

/** Native parts shared by all streams of a collector. */
export interface SpliceParts {
  readonly io: NativeLogIo;
  readonly peek: PeekPipe;
  readonly poller: ReadinessPoller;
}

/** What a stream is made of. */
export interface LogStreamOptions {
  /** Both ends of the fifo, non-blocking; the stream closes it. */
  readonly fd: number;
  readonly sink: LogSink;
  readonly clock: Clock;
  readonly turns: TurnQueue<LogStream>;
  readonly native?: SpliceParts | undefined;
}

const incoming = Buffer.allocUnsafe(CHUNK_BYTES);

/** Moves bytes from a fifo into a log, in turns with other streams. */
export class LogStream {
  readonly fd: number;
  readonly sink: LogSink;
  readonly #options: LogStreamOptions;
  readonly #copy: CopyPump | undefined;
  readonly #socket: Socket | undefined;
  #timer: unknown;
  #closed = false;

  constructor(options: LogStreamOptions) {
    this.#options = options;
    this.fd = options.fd;
    this.sink = options.sink;
    const { native, turns } = options;
    if (native === undefined) {
      const copy = new CopyPump(options.sink);
      this.#copy = copy;
      this.#socket = this.#listen(copy);
    } else {
      native.poller.add(this.fd, () => turns.add(this));
    }
  }

  /** One turn of this stream; called by the queue. */
  turn(): void {
    if (this.#closed) return;
    const result = this.#pump(ROUNDS_PER_TURN);
    if (result === "more") this.#options.turns.add(this);
    else if (result === "paused") this.#later();
    else this.#wait();
  }

  /** Moves what is in the fifo now, until it is empty, the disk refuses, or `until` (monotonic ms) has come. Resolves to whether it is empty. */
  async drain(until: number): Promise<boolean> {
    const { clock } = this.#options;
    while (!this.#closed) {
      const result = this.#pump(ROUNDS_PER_TURN);
      if (result === "empty") return true;
      const now = clock.monotonic();
      if (now >= until) return false;
      await (result === "more" ? nextTurn() : this.#pause(Math.min(this.sink.retryInMs, until - now)));
    }
    return true;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const { clock, native, turns } = this.#options;
    if (this.#timer !== undefined) clock.clearTimeout(this.#timer);
    turns.remove(this);
    if (native !== undefined) {
      native.poller.remove(this.fd);
      closeSync(this.fd);
    } else {
      this.#socket?.destroy();
    }
    this.sink.log.close();
  }

  #pump(rounds: number): PumpResult {
    const { native } = this.#options;
    let result: PumpResult = "more";
    for (let round = 0; round < rounds && result === "more"; round++) {
      result =
        native === undefined
          ? (this.#copy as CopyPump).once(this.fd)
          : spliceOnce(native.io, native.peek, this.fd, this.sink);
    }
    return result;
  }

  /** Waits for the next bytes. */
  #wait(): void {
    if (this.#socket === undefined) this.#options.native?.poller.rearm(this.fd);
    else this.#socket.resume();
  }

  #later(): void {
    const { clock, turns } = this.#options;
    if (this.#timer !== undefined) return;
    this.#timer = clock.setTimeout(() => {
      this.#timer = undefined;
      turns.add(this);
    }, this.sink.retryInMs);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.setTimeout(resolve, ms));
  }

  /** Without a way to ask whether a pipe is readable, the first chunk comes through libuv; the turns after it read directly. */
  #listen(copy: CopyPump): Socket {
    const onread: OnReadOpts = {
      buffer: incoming,
      callback: (count) => {
        if (this.#closed) return false;
        copy.push(incoming.subarray(0, count));
        this.#options.turns.add(this);
        return false;
      },
    };
    // the constructor takes `onread` as well; its type forgot it
    const options: SocketConstructorOpts & { onread: OnReadOpts } = {
      fd: this.fd,
      readable: true,
      writable: false,
      onread,
    };
    const socket = new Socket(options);
    socket.on("error", () => socket.destroy());
    socket.resume();
    return socket;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
