/** The driver process's end: methods by name, each call with a signal that aborts when the agent goes away or loses interest. */
import { chmodSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { unlinkQuietly } from "../files.ts";
import { toWireError } from "./frame-error.ts";
import { FrameSocket } from "./frame-socket.ts";
import { type Frame, Kind } from "./frame-wire.ts";
import { Credit, Inbox } from "./stream-parts.ts";

/** A method with one answer. */
export type CallHandler = (args: readonly unknown[], signal: AbortSignal) => Promise<unknown>;
/** A method with a stream of answers; `input` is what the agent sends meanwhile. */
export type StreamHandler = (
  args: readonly unknown[],
  signal: AbortSignal,
  input: AsyncIterable<unknown>,
) => AsyncIterable<unknown>;

/** What is served. */
export interface FrameHandlers {
  readonly calls: Readonly<Record<string, CallHandler>>;
  readonly streams: Readonly<Record<string, StreamHandler>>;
}

/** Why a call's signal aborts. */
class CallCancelled extends Error {
  override readonly name = "AbortError";
  constructor() {
    super("the agent cancelled the call");
  }
}

interface RunningCall {
  readonly abort: AbortController;
  readonly credit: Credit;
  readonly input: Inbox<unknown>;
}

/** A server that listens. */
export interface FrameServer {
  /** Connections at this moment. */
  connections(this: void): number;
  /** Answers that were given still leave. */
  close(this: void): void;
}

/** Listens on a unix socket, for this user only. */
export async function serveFrames(path: string, handlers: FrameHandlers): Promise<FrameServer> {
  const connections = new Set<Connection>();
  const server = createServer((socket) => {
    const connection: Connection = new Connection(socket, handlers, () => connections.delete(connection));
    connections.add(connection);
  });
  unlinkQuietly(path);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
  chmodSync(path, 0o600);
  return {
    connections: () => connections.size,
    close() {
      server.close();
      for (const connection of connections) connection.close();
    },
  };
}

class Connection {
  readonly #handlers: FrameHandlers;
  readonly #socket: FrameSocket;
  readonly #calls = new Map<number, RunningCall>();

  constructor(socket: Socket, handlers: FrameHandlers, onClose: () => void) {
    this.#handlers = handlers;
    this.#socket = new FrameSocket(
      socket,
      {
        frame: (frame) => this.#receive(frame),
        unreadable: (kind, id, reason) => {
          if (kind === Kind.call) this.#socket.send(Kind.fail, id, toWireError(reason));
          else this.#cancel(id);
        },
      },
      () => {
        for (const { abort, input } of this.#calls.values()) {
          input.end();
          abort.abort(new CallCancelled());
        }
        onClose();
      },
    );
  }

  close(): void {
    this.#socket.close();
  }

  #receive([kind, id, ...rest]: Frame): void {
    if (kind === Kind.call) {
      void this.#run(id, String(rest[0]), Array.isArray(rest[1]) ? (rest[1] as unknown[]) : []);
      return;
    }
    const call = this.#calls.get(id);
    if (call === undefined) return;
    if (kind === Kind.cancel) this.#cancel(id);
    else if (kind === Kind.item) call.input.push(rest[0]);
    else if (kind === Kind.end) call.input.end();
    else if (kind === Kind.credit) call.credit.add(Number(rest[0]));
  }

  #cancel(id: number): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    call?.input.end();
    call?.abort.abort(new CallCancelled());
  }

  async #run(id: number, method: string, args: readonly unknown[]): Promise<void> {
    const abort = new AbortController();
    const call: RunningCall = {
      abort,
      credit: new Credit(),
      input: new Inbox<unknown>(
        (count) => this.#socket.send(Kind.credit, id, count),
        () => undefined,
      ),
    };
    this.#calls.set(id, call);
    try {
      const answer = await this.#answer(id, method, args, call);
      if (!abort.signal.aborted) this.#socket.send(Kind.end, id, answer);
    } catch (reason) {
      if (!abort.signal.aborted) this.#socket.send(Kind.fail, id, toWireError(reason));
    } finally {
      this.#calls.delete(id);
    }
  }

  async #answer(id: number, method: string, args: readonly unknown[], call: RunningCall): Promise<unknown> {
    const { signal } = call.abort;
    const { calls, streams } = this.#handlers;
    if (Object.hasOwn(calls, method)) return calls[method]?.(args, signal);
    if (!Object.hasOwn(streams, method)) throw new Error(`the driver process has no method ${JSON.stringify(method)}`);
    for await (const value of streams[method]?.(args, signal, call.input) ?? []) {
      await call.credit.take(signal);
      if (signal.aborted) return undefined;
      this.#socket.send(Kind.item, id, value);
    }
    return undefined;
  }
}
