import type { Clock } from "@outrider/backoff";
import type { Node } from "@outrider/nomad-structs";
import type { MetricsRegistry } from "../metrics/index.ts";
import type { NodeCounts } from "../node/index.ts";
import type { NodeHandlers } from "../node/node-handlers.ts";
import type { EmbeddedServer, TableName } from "../server/index.ts";
import type { ApiRequest, ApiResult } from "./api-types.ts";
import { HttpError } from "./http-error.ts";
import type { WaitingQueries } from "./waiting-queries.ts";

/** What the agent tells of itself. */
export interface AgentInfo {
  readonly name: string;
  readonly region: string;
  readonly datacenter: string;
  readonly version: string;
  /** `host:port` of this API, for clients. */
  readonly httpAddress: string;
  readonly httpPort: number;
  readonly serverId: string;
  readonly startedMs: number;
  readonly dataDir: string;
}

/** The node behind this API. */
export interface NodeView {
  readonly node: Node;
  readonly heartbeat: { readonly lastMs: number; readonly ttlMs: number };
  counts(): NodeCounts;
}

/** Everything that resources answer from. */
export interface ApiContext {
  readonly server: EmbeddedServer;
  readonly waiting: WaitingQueries;
  readonly node: () => NodeView | undefined;
  readonly handlers: () => NodeHandlers | undefined;
  readonly agent: () => AgentInfo;
  readonly metrics: MetricsRegistry;
  readonly prometheus: boolean;
  readonly clock: Clock;
  /** Parses a job file for `/v1/jobs/parse`; throws with the text for the user. */
  readonly parseHcl?: (source: string, variables: string) => unknown;
}

/** A value as it is at an index; undefined: there is none. */
export interface Snapshot<T> {
  readonly value: T | undefined;
  readonly index: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers a query, waiting for a newer index when the client asks for it. `missing` is the text of a 404. */
export async function answerQuery<T>(
  context: ApiContext,
  request: ApiRequest,
  tables: readonly TableName[],
  missing: string,
  read: () => Snapshot<T>,
): Promise<ApiResult> {
  const { index, waitMs } = request.query;
  const result = await context.waiting.answer(read, {
    tables,
    newest: () => tableIndex(context, ...tables),
    index,
    waitMs,
    signal: request.signal,
    client: request.reply.raw.socket ?? undefined,
  });
  if (result.value === undefined) {
    throw new HttpError(404, missing, {
      "x-nomad-index": String(Math.max(1, result.index)),
      "x-nomad-lastcontact": "0",
      "x-nomad-knownleader": "true",
    });
  }
  return {
    kind: "json",
    value: result.value,
    index: result.index,
    ...(result.headers === undefined ? {} : { headers: result.headers }),
  };
}

/** The newest index of some tables. */
export function tableIndex(context: ApiContext, ...tables: readonly TableName[]): number {
  return Math.max(1, ...tables.map((name) => context.server.state.tables[name].index));
}
