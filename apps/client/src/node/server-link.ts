import type { Allocation, Node, NodeEvent } from "@outrider/nomad-structs";
import type { NodeHandlers } from "./node-handlers.ts";

/** What an allocation update carries to the server: nothing else is sent (client-runtime.md 2.1). */
export type AllocUpdate = Pick<
  Allocation,
  "ID" | "NodeID" | "TaskStates" | "ClientStatus" | "ClientDescription" | "DeploymentStatus" | "NetworkStatus"
>;

/** Answer to a registration or heartbeat: how long until the server gives the node up, and its index. */
export interface HeartbeatReply {
  readonly heartbeatTtlMs: number;
  readonly index: number;
  readonly servers?: readonly string[];
}

/** Where the disk of an allocation can be fetched. */
export interface DiskLocation {
  /** `http://10.0.0.7:4646`. */
  readonly address: string;
  /** The migrate token of the allocation. */
  readonly token?: string;
}

/** What the node should run: allocation ids with the index at which the server last changed each. */
export interface DesiredAllocs {
  readonly index: number;
  readonly allocs: ReadonlyMap<string, number>;
}

/**
 * The one port between the node and whoever commands it: the embedded server in process, or real servers over TCP.
 * Every call takes a signal and rejects with an error whose `recoverable` says whether to try again.
 */
export interface ServerLink {
  /** Announces the node with all it has; also renews. */
  register(node: Node, o: { signal: AbortSignal }): Promise<HeartbeatReply>;
  /** Reports the node's status and keeps it alive. */
  heartbeat(nodeId: string, status: "ready" | "initializing", o: { signal: AbortSignal }): Promise<HeartbeatReply>;
  /** Waits until the desired set is newer than `minIndex`, or `waitMs` passed. The caller ignores an index that did not grow. */
  watchAllocs(o: { nodeId: string; minIndex: number; waitMs: number; signal: AbortSignal }): Promise<DesiredAllocs>;
  /** The named allocations, whole, with their jobs. */
  getAllocs(ids: readonly string[], o: { signal: AbortSignal }): Promise<readonly Allocation[]>;
  /** Waits until an allocation of another node has ended, and tells where its disk is; nothing when nobody knows it, or no other node has it. */
  findDisk(o: { nodeId: string; allocId: string; signal: AbortSignal }): Promise<DiskLocation | undefined>;
  /** Reports client states; resolves when the server has committed them. */
  updateAllocs(updates: readonly AllocUpdate[], o: { signal: AbortSignal }): Promise<{ readonly index: number }>;
  /** Node events (driver health and the like). */
  emitNodeEvents(nodeId: string, events: readonly NodeEvent[], o: { signal: AbortSignal }): Promise<void>;
  /** Offers the node's side of reverse calls (logs, stats, signal, restart, pause). */
  serve(nodeId: string, handlers: NodeHandlers): Disposable;
}
