import type { FastifyReply } from "fastify";
import type { Params, QueryOptions } from "./query-options.ts";

/** Methods by which resources are reached. PUT and POST mean the same everywhere. */
export type ApiMethod = "GET" | "PUT" | "POST" | "DELETE";

/** A request as resources see it. */
export interface ApiRequest {
  readonly method: ApiMethod;
  /** Decoded parts of the path that stand for something. */
  readonly path: Readonly<Record<string, string>>;
  readonly params: Params;
  readonly query: QueryOptions;
  readonly body: Buffer | undefined;
  /** Aborts when the client is gone or has closed its half: from then on waiting for changes serves nobody. */
  readonly signal: AbortSignal;
  /** Aborts when the connection is closed: nothing can be sent any more. */
  readonly closed: AbortSignal;
  /** For streams only: a handler that uses it gives `{ kind: "sent" }`. */
  readonly reply: FastifyReply;
}

/** What a resource answers. `index` adds the three headers of a query; `writeIndex` the one of a write. */
export type ApiResult =
  | {
      readonly kind: "json";
      readonly value: unknown;
      readonly index?: number;
      readonly writeIndex?: number;
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: "text"; readonly text: string; readonly contentType: string }
  | { readonly kind: "empty"; readonly writeIndex?: number; readonly status?: number }
  | { readonly kind: "sent" };

/** Answers one method of one resource. */
export type ApiHandler = (request: ApiRequest) => ApiResult | Promise<ApiResult>;

/** A resource: a path in fastify's notation, and what its methods do. */
export interface Resource {
  readonly path: string;
  readonly methods: Readonly<Partial<Record<ApiMethod, ApiHandler>>>;
  /** Longest body in bytes; default 64 KiB. */
  readonly bodyLimit?: number;
}

/** JSON without headers of its own. */
export function json(value: unknown): ApiResult {
  return { kind: "json", value };
}

/** JSON of a write. */
export function writeJson(value: unknown, writeIndex: number): ApiResult {
  return { kind: "json", value, writeIndex };
}

/** The same handler for PUT and POST. */
export function change(handler: ApiHandler): { readonly PUT: ApiHandler; readonly POST: ApiHandler } {
  return { PUT: handler, POST: handler };
}
