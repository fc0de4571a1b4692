import { chmod, mkdir, rm } from "node:fs/promises";
import type { AddressInfo, Socket } from "node:net";
import { dirname } from "node:path";
import { gzip } from "node:zlib";
import { promisify } from "node:util";
import { OutriderError, type Logger } from "@outrider/foundation";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { ApiMethod, ApiRequest, ApiResult, Resource } from "./api-types.ts";
import { answerBrokenRequest, toPathError, writeError, type ParserError } from "./broken-request.ts";
import { Connections, DEFAULT_CONNECTION_LIMITS, type ConnectionLimits } from "./connections.ts";
import type { FairTurns } from "./fair-turns.ts";
import { HttpError, toHttpError } from "./http-error.ts";
import { Params, parseQueryOptions } from "./query-options.ts";
import { guardRequest, type GuardOptions } from "./request-guard.ts";
import { acceptUpgrades } from "./upgrades.ts";
import type { WaitingQueries } from "./waiting-queries.ts";

const gzipAsync = promisify(gzip);
/** JSON below this many bytes is not worth packing. */
const GZIP_ABOVE_BYTES = 1024;
const DEFAULT_BODY_LIMIT = 65_536;
/** Longest request line with all headers: a command to run in a task travels in the path. */
const MAX_HEADER_BYTES = 65_536;
/** New connections that may wait for the event loop: more than that are heard of only a second later, when the client tries again. */
const BACKLOG = 4096;
/** Methods that reach a resource, which refuses what it does not have. */
const METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"];
/** Longest unix socket path of Linux. */
const MAX_SOCKET_PATH = 107;

/** Where the server listens. */
export type BindAddress = { readonly host: string; readonly port: number } | { readonly unixSocket: string };

/** Options of {@link createHttpServer}. */
export interface HttpServerOptions {
  readonly bind: BindAddress;
  readonly guard: Omit<GuardOptions, "unixSocket">;
  readonly region: string;
  readonly resources: readonly Resource[];
  readonly waiting: WaitingQueries;
  readonly logger: Logger;
  /** Times of slow clients, ms. */
  readonly timeouts?: { readonly headersMs?: number; readonly requestMs?: number };
  readonly connections?: ConnectionLimits;
  /** Shared with whoever else works for requests; without, requests are worked on as they come. */
  readonly turns?: FairTurns;
}

/** The HTTP API. */
export class HttpServer {
  readonly app: FastifyInstance;
  readonly #o: HttpServerOptions;
  readonly #connections: Connections;
  #address = "";

  constructor(o: HttpServerOptions) {
    this.#o = o;
    this.app = fastify({
      logger: false,
      forceCloseConnections: true,
      bodyLimit: DEFAULT_BODY_LIMIT,
      routerOptions: { maxParamLength: 1024, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
      frameworkErrors: (reason, _request, reply) => void sendError(reply, toPathError(reason)),
      clientErrorHandler: (reason, socket) => answerBrokenRequest(reason as unknown as ParserError, socket as Socket),
      requestTimeout: o.timeouts?.requestMs ?? 30_000,
      keepAliveTimeout: 65_000,
      connectionTimeout: 0,
      http: {
        maxHeaderSize: MAX_HEADER_BYTES,
        // The guard tells of a missing host.
        requireHostHeader: false,
        headersTimeout: o.timeouts?.headersMs ?? 10_000,
        connectionsCheckingInterval: Math.min(5000, Math.max(100, (o.timeouts?.headersMs ?? 10_000) / 4)),
      },
      exposeHeadRoutes: false,
    });
    // A client that closes its half after the request still wants the answer.
    (this.app.server as unknown as { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
    this.#connections = new Connections(o.connections ?? DEFAULT_CONNECTION_LIMITS);
    this.#connections.watch(this.app.server);
    this.app.server.on("connection", () => o.turns?.connected());
    this.#configure();
  }

  /** `http://127.0.0.1:4646`, or `unix:///path`. */
  get address(): string {
    return this.#address;
  }

  /** The TCP port; 0 for a unix socket. */
  get port(): number {
    const address = this.app.server.address();
    return address === null || typeof address === "string" ? 0 : address.port;
  }

  /** Starts to listen. Rejects with ERR_OUTRIDER_HTTP_PORT_IN_USE, naming the option. */
  async listen(): Promise<void> {
    const { bind } = this.#o;
    if ("unixSocket" in bind) await this.#listenUnix(bind.unixSocket);
    else await this.#listenTcp(bind.host, bind.port);
  }

  /** Ends waiting queries and streams, then the server. */
  async close(): Promise<void> {
    this.#o.waiting.end();
    await this.app.close();
  }

  async #listenTcp(host: string, port: number): Promise<void> {
    try {
      await this.app.listen({ host, port, backlog: BACKLOG });
    } catch (reason) {
      const code = (reason as NodeJS.ErrnoException).code;
      if (code === "EADDRINUSE") {
        throw new OutriderError(
          "ERR_OUTRIDER_HTTP_PORT_IN_USE",
          `port ${port} on ${host} is in use by another program; choose another with -port or OUTRIDER_HTTP_PORT`,
          { cause: reason, details: { host, port } },
        );
      }
      throw new OutriderError(
        "ERR_OUTRIDER_HTTP_BIND",
        `cannot listen on ${host}:${port} (${code ?? String(reason)}); see -bind, -port`,
        { cause: reason, details: { host, port } },
      );
    }
    const at = this.app.server.address() as AddressInfo;
    this.#address = `http://${at.family === "IPv6" ? `[${at.address}]` : at.address}:${at.port}`;
  }

  async #listenUnix(path: string): Promise<void> {
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH) {
      throw new OutriderError(
        "ERR_OUTRIDER_HTTP_SOCKET_PATH",
        `the path of the unix socket is longer than ${MAX_SOCKET_PATH} bytes: ${path}`,
        { details: { path } },
      );
    }
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // The data folder's lock is held: a socket file of that name is left over.
    await rm(path, { force: true });
    const before = process.umask(0o177);
    try {
      await this.app.listen({ path, backlog: BACKLOG });
    } finally {
      process.umask(before);
    }
    await chmod(path, 0o600);
    this.#address = `unix://${path}`;
  }

  #configure(): void {
    const { app } = this;
    app.removeAllContentTypeParsers();
    // Nomad takes JSON under any type, also curl's default one.
    app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    const guard = { ...this.#o.guard, unixSocket: "unixSocket" in this.#o.bind };
    app.addHook("onRequest", (request, _reply, done) => {
      try {
        guardRequest({ method: request.method, url: request.url, headers: request.headers }, guard);
      } catch (reason) {
        return done(reason as Error);
      }
      const { turns } = this.#o;
      if (turns === undefined) return done();
      turns.enter(this.#connections.asked(request.raw.socket), done);
    });
    acceptUpgrades(app);
    // Nobody tunnels through this server.
    app.server.on("connect", (_request, socket) => writeError(socket as Socket, 405, "Invalid method"));
    app.setNotFoundHandler((request, reply) => {
      // Methods that no resource has never come as far as their resource.
      if (!METHODS.includes(request.method)) return sendError(reply, new HttpError(405, "Invalid method"));
      return reply.code(404).send();
    });
    app.setErrorHandler((reason, _request, reply) => sendError(reply, reason));
    for (const resource of this.#o.resources) this.#mount(resource);
  }

  #mount(resource: Resource): void {
    this.app.route({
      method: METHODS,
      url: resource.path,
      bodyLimit: resource.bodyLimit ?? DEFAULT_BODY_LIMIT,
      handler: async (request, reply) => {
        const handler = resource.methods[request.method as ApiMethod];
        if (handler === undefined) throw new HttpError(405, "Invalid method");
        const { signal, closed } = watchClient(request, reply);
        const at = request.url.indexOf("?");
        const params = new Params(at === -1 ? "" : request.url.slice(at + 1));
        const query = parseQueryOptions(params, this.#o.region);
        const api: ApiRequest = {
          method: request.method as ApiMethod,
          path: request.params as Record<string, string>,
          params,
          query,
          body: request.body as Buffer | undefined,
          signal,
          closed,
          reply,
        };
        const result = await handler(api);
        return send(request, reply, result, query.pretty);
      },
    });
  }
}

/**
 * A client that leaves looks at first like one that has just finished sending, because half-open connections are served: so
 * the end of its half ends waiting (with an answer), and only the close of the connection ends sending.
 */
function watchClient(
  request: FastifyRequest,
  reply: FastifyReply,
): { readonly signal: AbortSignal; readonly closed: AbortSignal } {
  const leaving = new AbortController();
  const closed = new AbortController();
  const { socket } = request.raw;
  // A connection may have any number of pipelined requests.
  socket?.setMaxListeners(0);
  const onEnd = (): void => leaving.abort(new DOMException("the client has finished sending", "AbortError"));
  const onClose = (): void => {
    socket?.removeListener("end", onEnd);
    if (reply.raw.writableFinished) return;
    closed.abort(new DOMException("the client is gone", "AbortError"));
    leaving.abort(closed.signal.reason);
  };
  reply.raw.once("close", onClose);
  socket?.once("end", onEnd);
  if (socket?.readableEnded === true) onEnd();
  return { signal: leaving.signal, closed: closed.signal };
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  result: ApiResult,
  pretty: boolean,
): Promise<FastifyReply> {
  if (result.kind === "sent") return reply;
  reply.header("x-content-type-options", "nosniff");
  if (result.kind === "text") return reply.header("content-type", result.contentType).send(result.text);
  if (result.kind === "empty") {
    if (result.status !== undefined) reply.code(result.status);
    if (result.writeIndex !== undefined) reply.header("x-nomad-index", String(result.writeIndex));
    return reply.send();
  }
  for (const [name, value] of Object.entries(result.headers ?? {})) reply.header(name, value);
  if (result.index !== undefined) setIndex(reply, result.index);
  if (result.writeIndex !== undefined) reply.header("x-nomad-index", String(result.writeIndex));
  reply.code(result.status ?? 200).header("content-type", "application/json");
  const body = Buffer.from(JSON.stringify(result.value, null, pretty ? 4 : undefined));
  reply.header("vary", "Accept-Encoding");
  if (body.length < GZIP_ABOVE_BYTES || !acceptsGzip(request.headers["accept-encoding"])) return reply.send(body);
  return reply.header("content-encoding", "gzip").send(await gzipAsync(body, { level: 1 }));
}

/** The three headers of an answer to a query. */
export function setIndex(reply: FastifyReply, index: number): void {
  // Zero would make a waiting client spin.
  reply
    .header("x-nomad-index", String(Math.max(1, index)))
    .header("x-nomad-lastcontact", "0")
    .header("x-nomad-knownleader", "true");
}

function acceptsGzip(header: string | string[] | undefined): boolean {
  const text = Array.isArray(header) ? header.join(",") : (header ?? "");
  return text.split(",").some((part) => {
    const [name, ...params] = part.trim().toLowerCase().split(";");
    return name === "gzip" && !params.some((p) => /^\s*q=0(\.0*)?\s*$/.test(p));
  });
}

function sendError(reply: FastifyReply, reason: unknown): FastifyReply {
  const error = toHttpError(reason);
  for (const [name, value] of Object.entries(error.headers)) reply.header(name, value);
  // Closing under a client that still sends would reset the connection, and the answer would be lost: the rest is read and dropped instead,
  // for as long as a request may take.
  if (error.status === 413) {
    reply.removeHeader("connection");
    reply.raw.shouldKeepAlive = true;
  }
  return reply
    .code(error.status)
    .header("content-type", "text/plain; charset=utf-8")
    .header("x-content-type-options", "nosniff")
    .send(error.message);
}

/** Makes the server; nothing listens before {@link HttpServer.listen}. */
export function createHttpServer(o: HttpServerOptions): HttpServer {
  return new HttpServer(o);
}
