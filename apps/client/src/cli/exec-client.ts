import { onAbort, type Clock } from "@outrider/backoff";
import { connect } from "node:net";
import type { IncomingMessage } from "node:http";
import type { RawData, WebSocket } from "ws";
import { ApiError, type WebsocketTarget } from "./api-client.ts";
import { CommandError } from "./command.ts";

/** Time between signs of life. */
const HEARTBEAT_MS = 10_000;
/** How long a goodbye may take. */
const GOODBYE_MS = 300;

/** A frame of the agent. */
export interface ExecFrame {
  readonly stdout?: { readonly data?: string; readonly close?: boolean };
  readonly stderr?: { readonly data?: string; readonly close?: boolean };
  readonly exited?: boolean;
  readonly result?: { readonly exit_code?: number };
}

/** One exec over a websocket. */
export class ExecClient {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #frames: ExecFrame[] = [];
  #wake: () => void = () => undefined;
  #end: { readonly error?: Error } | undefined;
  #timer: unknown;

  private constructor(socket: WebSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    socket.on("message", (data) => this.#take(data));
    socket.on("close", (code, reason) => this.#over(code, reason.toString("utf8")));
    socket.on("error", () => undefined);
    this.#beat();
  }

  /** Connects. Rejects with an ApiError: with a status when the agent answered, without when nobody did. */
  static async open(
    { url, headers, tls, auth, socketPath }: WebsocketTarget,
    clock: Clock,
    signal: AbortSignal,
  ): Promise<ExecClient> {
    signal.throwIfAborted();
    const { WebSocket: Socket } = await import("ws");
    const socket = new Socket(url, {
      headers: { ...headers },
      ...tls,
      ...(auth === undefined ? {} : { auth }),
      perMessageDeflate: false,
      ...(socketPath === undefined ? {} : { createConnection: () => connect(socketPath) }),
    });
    const client = new ExecClient(socket, clock);
    const forget = onAbort(signal, () => socket.terminate());
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once("open", resolve);
        socket.once("unexpected-response", (_request, answer) => void refused(answer).then(reject));
        socket.once("error", (cause: NodeJS.ErrnoException) => {
          const why =
            cause.code === "ECONNREFUSED" || cause.code === "ENOENT" ? "no agent answers there" : cause.message;
          reject(new ApiError(`GET ${url.pathname} at ${url.host}: ${why}`, undefined, "", { cause }));
        });
      });
      return client;
    } catch (reason) {
      client.close();
      signal.throwIfAborted();
      throw reason;
    } finally {
      forget();
    }
  }

  /** Resolves when the message has been given to the kernel: a slow agent slows the keyboard down. */
  send(message: object): Promise<void> {
    return new Promise((resolve) => this.#socket.send(JSON.stringify(message), () => resolve()));
  }

  /** Frames up to the one that tells the exit. Throws when the agent ends the session otherwise. */
  async *frames(signal: AbortSignal): AsyncGenerator<ExecFrame> {
    const forget = onAbort(signal, () => this.#wake());
    try {
      for (;;) {
        signal.throwIfAborted();
        const frame = this.#frames.shift();
        if (frame !== undefined) {
          yield frame;
          if (frame.exited === true) return;
        } else if (this.#end !== undefined) {
          throw (
            this.#end.error ??
            new CommandError("failed to exec into task: disconnected without receiving the exit code")
          );
        } else {
          await new Promise<void>((resolve) => (this.#wake = resolve));
        }
      }
    } finally {
      forget();
    }
  }

  close(): void {
    this.#clock.clearTimeout(this.#timer);
    const socket = this.#socket;
    if (socket.readyState === socket.OPEN) {
      socket.close(1000);
      this.#clock.setTimeout(() => socket.terminate(), GOODBYE_MS);
    } else socket.terminate();
  }

  #take(data: RawData): void {
    this.#frames.push(JSON.parse((data as Buffer).toString("utf8")) as ExecFrame);
    this.#wake();
  }

  #over(code: number, reason: string): void {
    this.#clock.clearTimeout(this.#timer);
    this.#end =
      code === 1000 || code === 1005 || code === 1006 || reason === ""
        ? {}
        : { error: new CommandError(`failed to exec into task: ${reason}`) };
    this.#wake();
  }

  #beat(): void {
    this.#timer = this.#clock.setTimeout(() => {
      if (this.#socket.readyState === this.#socket.OPEN) void this.send({});
      this.#beat();
    }, HEARTBEAT_MS);
  }
}

async function refused(answer: IncomingMessage): Promise<ApiError> {
  let body = "";
  for await (const chunk of answer) body += String(chunk);
  return new ApiError(
    `Unexpected response code: ${answer.statusCode} (${body.trim()})`,
    answer.statusCode,
    body.trim(),
  );
}
