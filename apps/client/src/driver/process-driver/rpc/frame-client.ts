/** The agent's end: calls and streams by number. When the connection is lost it stays lost, and every call rejects, also a later one. */
import { type Clock, onAbort } from "@outrider/backoff";
import { PluginProtocolError, PluginShutdownError, PluginTimeoutError } from "@outrider/plugin-driver";
import { connect } from "node:net";
import { fromWireError, type WireError } from "./frame-error.ts";
import { FrameSocket } from "./frame-socket.ts";
import { type Frame, Kind } from "./frame-wire.ts";
import { Credit, Inbox } from "./stream-parts.ts";

/** Limits of one call. */
export interface FrameCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Absent = only the signal ends the call. */
  readonly timeoutMs?: number | undefined;
}

/** Somebody waits for frames of a call. */
interface Listener {
  item(value: unknown): void;
  end(value: unknown): void;
  fail(reason: Error): void;
  credit(count: number): void;
}

/** One connection. */
export class FrameClient {
  readonly #clock: Clock;
  readonly #listeners = new Map<number, Listener>();
  #socket!: FrameSocket;
  #last = 0;
  #isGone = false;
  #resolveGone: () => void = () => undefined;
  /** Resolves when the connection is lost or closed. */
  readonly gone: Promise<void>;

  private constructor(clock: Clock) {
    this.#clock = clock;
    this.gone = new Promise((resolve) => (this.#resolveGone = resolve));
  }

  /** Connects; `undefined` when nobody listens, or does not accept within the time. */
  static open(path: string, clock: Clock, timeoutMs: number): Promise<FrameClient | undefined> {
    return new Promise((resolve) => {
      const socket = connect(path);
      const timer = clock.setTimeout(() => socket.destroy(), timeoutMs);
      const client = new FrameClient(clock);
      client.#socket = new FrameSocket(
        socket,
        {
          frame: (frame) => client.#receive(frame),
          unreadable: (_kind, id, reason) =>
            client.#listeners.get(id)?.fail(new PluginProtocolError(reason.message, { cause: reason })),
        },
        () => {
          clock.clearTimeout(timer);
          client.close();
          resolve(undefined);
        },
      );
      socket.once("connect", () => {
        clock.clearTimeout(timer);
        resolve(client);
      });
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** One answer. */
  call(method: string, args: readonly unknown[], o: FrameCallOptions = {}): Promise<unknown> {
    const { signal, timeoutMs } = o;
    if (this.#isGone) return Promise.reject(new PluginShutdownError());
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      let timer: unknown;
      let forget: (() => void) | undefined;
      const settle = (): void => {
        this.#listeners.delete(id);
        forget?.();
        if (timer !== undefined) this.#clock.clearTimeout(timer);
      };
      const stop = (reason: Error): void => {
        settle();
        this.#socket.send(Kind.cancel, id);
        reject(reason);
      };
      this.#listeners.set(id, {
        item: () => undefined,
        credit: () => undefined,
        end: (value) => {
          settle();
          resolve(value);
        },
        fail: (reason) => {
          settle();
          reject(reason);
        },
      });
      this.#socket.send(Kind.call, id, method, args);
      if (signal !== undefined) forget = onAbort(signal, () => stop(signal.reason as Error));
      if (timeoutMs !== undefined)
        timer = this.#clock.setTimeout(() => stop(new PluginTimeoutError(method, timeoutMs)), timeoutMs);
    });
  }

  /** A stream of answers, opened by the first `next()`. */
  stream<T>(
    method: string,
    args: readonly unknown[],
    signal: AbortSignal,
    input?: AsyncIterable<unknown>,
  ): AsyncIterableIterator<T, undefined> {
    let inbox: Inbox<T> | undefined;
    const iterator: AsyncIterableIterator<T, undefined> = {
      next: () => (inbox ??= this.#open<T>(method, args, signal, input)).next(),
      return: () => {
        inbox ??= new Inbox<T>(
          () => undefined,
          () => undefined,
        );
        return inbox.return();
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  /** Idempotent. */
  close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#socket.close();
    this.#resolveGone();
    for (const listener of this.#listeners.values()) listener.fail(new PluginShutdownError());
    this.#listeners.clear();
  }

  #open<T>(
    method: string,
    args: readonly unknown[],
    signal: AbortSignal,
    input: AsyncIterable<unknown> | undefined,
  ): Inbox<T> {
    const id = ++this.#last;
    const over = new AbortController();
    const credit = new Credit();
    const release = (): void => {
      this.#listeners.delete(id);
      forget();
      over.abort();
    };
    const leave = (): void => {
      release();
      this.#socket.send(Kind.cancel, id);
    };
    const inbox = new Inbox<T>((count) => this.#socket.send(Kind.credit, id, count), leave);
    if (signal.aborted || this.#isGone) {
      inbox.fail(signal.aborted ? signal.reason : new PluginShutdownError());
      return inbox;
    }
    this.#listeners.set(id, {
      item: (value) => inbox.push(value as T),
      credit: (count) => credit.add(count),
      end: () => {
        release();
        inbox.end();
      },
      fail: (reason) => {
        release();
        inbox.fail(reason);
      },
    });
    this.#socket.send(Kind.call, id, method, args);
    const forget = onAbort(signal, () => {
      leave();
      inbox.abort(signal.reason);
    });
    if (input !== undefined) {
      this.#pump(id, input, credit, over.signal).catch((reason: unknown) => {
        leave();
        inbox.fail(reason);
      });
    }
    return inbox;
  }

  async #pump(id: number, input: AsyncIterable<unknown>, credit: Credit, over: AbortSignal): Promise<void> {
    const source = input[Symbol.asyncIterator]();
    // a reader that waits for a keyboard is left when the command ends
    over.addEventListener("abort", () => void Promise.resolve(source.return?.()).catch(() => undefined), {
      once: true,
    });
    for (;;) {
      const next = await source.next();
      if (over.aborted) return;
      if (next.done === true) break;
      await credit.take(over);
      if (over.aborted) return;
      this.#socket.send(Kind.item, id, next.value);
    }
    this.#socket.send(Kind.end, id);
  }

  #receive([kind, id, value]: Frame): void {
    const listener = this.#listeners.get(id);
    if (listener === undefined) return;
    if (kind === Kind.end) listener.end(value ?? undefined);
    else if (kind === Kind.item) listener.item(value);
    else if (kind === Kind.fail) listener.fail(fromWireError(value as WireError));
    else if (kind === Kind.credit) listener.credit(Number(value));
  }
}
