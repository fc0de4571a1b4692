import type { Clock } from "@outrider/backoff";
import type { ExecInput, ExecOutput } from "@outrider/plugin-driver";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { RawData, WebSocket } from "ws";
import { execFrameText, parseExecMessage } from "./exec-frames.ts";
import { toHttpError } from "./http-error.ts";
import type { Upgrade } from "./upgrades.ts";

/** Longest message of a client. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
/** Messages of a client that wait for a slow program before the client is held back. */
const MAX_QUEUED = 64;
/** A client that shows no sign of life for two of these is gone, ms. */
const PING_MS = 30_000;
/** How long a client may take to say goodbye, ms. */
const GOODBYE_MS = 300;
/** Longest reason of a close frame. */
const MAX_REASON_BYTES = 123;

const NORMAL = 1000;
const GOING_AWAY = 1001;
const POLICY = 1008;
const INTERNAL = 1011;

/** One exec of one client. */
export interface ExecSession {
  readonly request: IncomingMessage;
  readonly upgrade: Upgrade;
  readonly clock: Clock;
  /** The agent ends. */
  readonly closing: AbortSignal;
  /** Whether the first message is to prove who the client is; with this token, when one was given in the request too. */
  readonly handshake: boolean;
  readonly token: string | undefined;
  readonly tty: boolean;
  /** Checks and starts; failures are told in the close frame. */
  readonly run: (input: AsyncIterable<ExecInput>, signal: AbortSignal) => AsyncIterable<ExecOutput>;
}

/** Makes a websocket of the request and relays the exec over it. Resolves when all is over; never rejects. */
export async function serveExec(session: ExecSession): Promise<void> {
  const { WebSocketServer } = await import("ws");
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    clientTracking: false,
  });
  const { request, upgrade } = session;
  upgrade.take();
  const socket = await new Promise<WebSocket | undefined>((resolve) => {
    upgrade.socket.once("close", () => resolve(undefined));
    server.handleUpgrade(request, upgrade.socket as never, upgrade.head, resolve);
  });
  if (socket !== undefined) await relay(session, socket);
}

async function relay(session: ExecSession, socket: WebSocket): Promise<void> {
  const { clock, closing } = session;
  const over = new AbortController();
  const leave = (): void => over.abort(new DOMException("the client is gone", "AbortError"));
  const goodbye = async (code: number, reason = ""): Promise<void> => {
    const closed = once(socket, "close");
    if (socket.readyState === socket.CLOSED) return;
    socket.close(code, shortened(reason));
    const timer = clock.setTimeout(() => socket.terminate(), GOODBYE_MS);
    await closed;
    clock.clearTimeout(timer);
  };
  socket.on("close", leave);
  socket.on("error", leave);
  const stopAsking = keepAlive(socket, clock);
  const input = new Messages(socket, session);
  const signal = AbortSignal.any([over.signal, closing]);
  try {
    for await (const frame of session.run(input.read(), signal)) {
      const { stderr: _none, ...merged } = frame;
      const text = execFrameText(session.tty ? merged : frame);
      if (text !== undefined) await sent(socket, text);
    }
    await goodbye(NORMAL);
  } catch (reason) {
    if (closing.aborted) return await goodbye(GOING_AWAY, "the agent ends");
    if (input.failure !== undefined) return await goodbye(POLICY, input.failure);
    const { status, message } = toHttpError(reason);
    await goodbye(status === 500 ? INTERNAL : POLICY, message);
  } finally {
    stopAsking();
    over.abort();
    socket.terminate();
  }
}

/** Waits until the message has been given to the kernel: a slow reader slows the program down. */
function sent(socket: WebSocket, text: string): Promise<void> {
  return new Promise((resolve, reject) => socket.send(text, (error) => (error ? reject(error) : resolve())));
}

/** Asks the client for signs of life; returns how to stop. */
function keepAlive(socket: WebSocket, clock: Clock): () => void {
  let heard = true;
  let timer: unknown;
  const ask = (): void => {
    if (!heard) return socket.terminate();
    heard = false;
    socket.ping();
    timer = clock.setTimeout(ask, PING_MS);
  };
  const hear = (): void => void (heard = true);
  socket.on("pong", hear);
  socket.on("message", hear);
  timer = clock.setTimeout(ask, PING_MS);
  return () => clock.clearTimeout(timer);
}

/** What the client sends, in order. */
class Messages {
  /** Why the client was refused. */
  failure: string | undefined;
  readonly #socket: WebSocket;
  readonly #session: ExecSession;
  readonly #queue: ExecInput[] = [];
  #greeted: boolean;
  #ended = false;
  #wake: () => void = () => undefined;

  constructor(socket: WebSocket, session: ExecSession) {
    this.#socket = socket;
    this.#session = session;
    this.#greeted = !session.handshake;
    socket.on("message", (data) => this.#take(data));
    socket.on("close", () => this.#end());
  }

  async *read(): AsyncGenerator<ExecInput> {
    for (;;) {
      const next = this.#queue.shift();
      if (next !== undefined) {
        if (this.#queue.length === 0 && this.#socket.isPaused) this.#socket.resume();
        yield next;
      } else if (this.#ended) {
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }

  #take(data: RawData): void {
    if (this.failure !== undefined) return;
    try {
      const { handshake, ...input } = parseExecMessage((data as Buffer).toString("utf8"));
      if (!this.#greeted) return this.#greet(handshake);
      if (input.stdin === undefined && input.ttySize === undefined) return;
      this.#queue.push(input);
      if (this.#queue.length >= MAX_QUEUED) this.#socket.pause();
    } catch (reason) {
      this.#refuse((reason as Error).message);
    }
    this.#wake();
  }

  #greet(handshake: { version: number; token: string } | undefined): void {
    const { token } = this.#session;
    if (handshake?.version !== 1) return this.#refuse("handshake: the first message has no version 1");
    if (token !== undefined && handshake.token !== "" && handshake.token !== token)
      return this.#refuse("handshake: the token differs from the one of the request");
    this.#greeted = true;
  }

  #refuse(why: string): void {
    this.failure = why;
    // ends the command, too: its caller hears why
    this.#socket.close(POLICY, shortened(why));
    this.#end();
  }

  #end(): void {
    this.#ended = true;
    this.#wake();
  }
}

/** As much of a text as fits into a close frame, in whole characters. */
export function shortened(text: string): string {
  if (Buffer.byteLength(text) <= MAX_REASON_BYTES) return text;
  let end = text.length;
  while (Buffer.byteLength(text.slice(0, end)) > MAX_REASON_BYTES - 3) end -= 1;
  return `${text.slice(0, end).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
