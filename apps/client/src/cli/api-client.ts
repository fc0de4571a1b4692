import { request as httpRequest, type ClientRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { createGunzip } from "node:zlib";
import { sleep, systemClock, type Clock } from "@outrider/backoff";
import type { Readable } from "node:stream";

/** How often a crowded agent is asked again, and how long apart at most. */
const MAX_TRIES = 10;
const MAX_RETRY_S = 10;

/** Where and as whom the commands talk. */
export interface ApiTarget {
  /** `http://host:port`, `https://…` or `unix:///path`. */
  readonly address: string;
  readonly region?: string;
  readonly namespace?: string;
  readonly token?: string;
  /** `user:password` for a proxy that asks for it. */
  readonly auth?: string;
  readonly tls?: {
    readonly ca?: Buffer[];
    readonly cert?: Buffer;
    readonly key?: Buffer;
    readonly servername?: string;
    readonly rejectUnauthorized?: boolean;
  };
}

/** A call that got an answer other than 200, or none. */
export class ApiError extends Error {
  readonly code = "ERR_OUTRIDER_CLI_API";
  readonly status: number | undefined;
  readonly body: string;

  constructor(message: string, status: number | undefined, body: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.body = body;
  }
}

/** One answer: the body, the index to wait on, and what asks for the next page ("": this was the last). */
export interface ApiAnswer<T> {
  readonly value: T;
  readonly index: number;
  readonly nextToken: string;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** What a call carries besides method and path. */
export interface CallOptions {
  readonly query?: Query | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** No namespace parameter: the path knows none. */
  readonly bare?: boolean;
}

/** A websocket's address and credentials. */
export interface WebsocketTarget {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: NonNullable<ApiTarget["tls"]>;
  readonly auth?: string;
  readonly socketPath?: string;
}

/** Talks Nomad's HTTP API; knows nothing of any room of the agent. */
export class ApiClient {
  readonly target: ApiTarget;
  readonly #clock: Clock;

  constructor(target: ApiTarget, clock: Clock = systemClock) {
    this.target = target;
    this.#clock = clock;
  }

  /** The same identity at another address (a node's own). */
  at(address: string): ApiClient {
    return new ApiClient({ ...this.target, address }, this.#clock);
  }

  async get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<ApiAnswer<T>> {
    return this.#json<T>("GET", path, { query, signal });
  }

  async put<T>(path: string, body: unknown, query?: Query): Promise<ApiAnswer<T>> {
    return this.#json<T>("PUT", path, { query, body });
  }

  async delete<T>(path: string, query?: Query): Promise<ApiAnswer<T>> {
    return this.#json<T>("DELETE", path, { query });
  }

  /** A body as it comes, for logs. Rejects when the answer is not 200. */
  async stream(path: string, query: Query, signal: AbortSignal): Promise<Readable> {
    const answer = await this.#send("GET", path, { query, signal });
    if (answer.statusCode !== 200) throw await refused(answer);
    return decoded(answer);
  }

  async #json<T>(method: string, path: string, o: CallOptions): Promise<ApiAnswer<T>> {
    let answer = await this.#send(method, path, o);
    // An agent that is crowded says when to come again. Only questions are repeated.
    for (let tries = 0; method === "GET" && answer.statusCode === 429 && tries < MAX_TRIES; tries++) {
      answer.resume();
      await sleep(retryAfterMs(answer), { ...(o.signal ? { signal: o.signal } : {}), clock: this.#clock });
      answer = await this.#send(method, path, o);
    }
    if (answer.statusCode !== 200) throw await refused(answer);
    const text = await textOf(decoded(answer));
    let value: T;
    try {
      value = JSON.parse(text) as T;
    } catch (cause) {
      throw new ApiError(`${method} ${path}: the answer is not JSON`, 200, text, { cause });
    }
    const { "x-nomad-index": index = 0, "x-nomad-nexttoken": nextToken = "" } = answer.headers;
    return { value, index: Number(index), nextToken: String(nextToken) };
  }

  /** Where a websocket of this path is, with everything that the connection needs. */
  websocket(path: string, query: Query): WebsocketTarget {
    const { url, unix } = this.#url(path, { query });
    const { token, tls, auth } = this.target;
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    return {
      url,
      headers: token ? { "x-nomad-token": token } : {},
      tls: tls ?? {},
      ...(auth === undefined ? {} : { auth }),
      ...(unix === undefined ? {} : { socketPath: unix }),
    };
  }

  #url(path: string, o: CallOptions): { readonly url: URL; readonly unix: string | undefined } {
    const { address, region, namespace, token } = this.target;
    const unix = address.startsWith("unix://") ? address.slice(7) : undefined;
    let url: URL;
    try {
      url = new URL(path, unix === undefined ? address : "http://127.0.0.1");
    } catch (cause) {
      throw new ApiError(`the address ${JSON.stringify(address)} is not a URL`, undefined, "", { cause });
    }
    if (url.protocol !== "http:" && url.protocol !== "https:")
      throw new ApiError(`the address ${JSON.stringify(address)} is none of http, https and unix`, undefined, "");
    if (token !== undefined && /[^\x20-\x7e]/.test(token))
      throw new ApiError("the token holds characters that no token has", undefined, "");
    const query = { ...(region ? { region } : {}), ...(namespace && !o.bare ? { namespace } : {}), ...o.query };
    for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, String(value));
    return { url, unix };
  }

  async #send(method: string, path: string, o: CallOptions): Promise<IncomingMessage> {
    const { address, token, auth, tls } = this.target;
    const { url, unix } = this.#url(path, o);
    const payload = o.body === undefined ? undefined : Buffer.from(JSON.stringify(o.body));
    const options: RequestOptions = {
      method,
      headers: {
        "accept-encoding": "gzip",
        ...(token ? { "x-nomad-token": token } : {}),
        ...(payload ? { "content-type": "application/json", "content-length": payload.length } : {}),
      },
      ...(unix === undefined ? {} : { socketPath: unix }),
      ...(auth === undefined ? {} : { auth }),
      ...(o.signal ? { signal: o.signal } : {}),
    };
    return new Promise((resolve, reject) => {
      const request: ClientRequest =
        url.protocol === "https:"
          ? httpsRequest(url, { ...options, ...tls }, resolve)
          : httpRequest(url, options, resolve);
      request.on("error", (cause: NodeJS.ErrnoException) => {
        if (o.signal?.aborted) return reject(o.signal.reason as Error);
        const why = cause.code === "ECONNREFUSED" || cause.code === "ENOENT" ? "no agent answers there" : cause.message;
        reject(new ApiError(`${method} ${path} at ${address}: ${why.trimEnd()}`, undefined, "", { cause }));
      });
      request.end(payload);
    });
  }
}

function retryAfterMs(answer: IncomingMessage): number {
  const seconds = Number(answer.headers["retry-after"] ?? 1);
  return Math.min(Number.isFinite(seconds) && seconds > 0 ? seconds : 1, MAX_RETRY_S) * 1000;
}

function decoded(answer: IncomingMessage): Readable {
  return answer.headers["content-encoding"] === "gzip" ? answer.pipe(createGunzip()) : answer;
}

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

async function refused(answer: IncomingMessage): Promise<ApiError> {
  const body = (await textOf(decoded(answer))).trim();
  return new ApiError(`Unexpected response code: ${answer.statusCode} (${body})`, answer.statusCode, body);
}
