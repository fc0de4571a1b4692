import type { Clock } from "@outrider/backoff";
import { sleep } from "@outrider/backoff";
import { migrateToken } from "@outrider/allocdir-interface/migrate";
import type { Allocation, Job } from "@outrider/nomad-structs";
import { isClientTerminal } from "@outrider/nomad-structs";
import type { NodeHandlers } from "../node/node-handlers.ts";
import type { DesiredAllocs, DiskLocation, HeartbeatReply, ServerLink } from "../node/server-link.ts";
import { copyPlain } from "../copy-plain.ts";
import { applyAllocUpdates } from "./alloc-updates.ts";
import { addNodeEvents, registerNode, setNodeStatus } from "./node-commands.ts";
import type { StateKeeper } from "./state-keeper.ts";

/** How long the server waits for the next heartbeat of its own node. */
const HEARTBEAT_TTL_MS = 30_000;

interface LinkOptions {
  readonly state: StateKeeper;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Called after each change that may give the scheduler work. */
  readonly changed: () => void;
}

/** The server's end of the node port, in the same process. */
export class LocalLink implements ServerLink {
  readonly #o: LinkOptions;
  readonly #handlers = new Map<string, NodeHandlers>();

  constructor(o: LinkOptions) {
    this.#o = o;
  }

  /** The node's side of reverse calls, undefined while no node serves. */
  handlers(nodeId: string): NodeHandlers | undefined {
    return this.#handlers.get(nodeId);
  }

  async register(...[node, { signal }]: Parameters<ServerLink["register"]>): Promise<HeartbeatReply> {
    signal.throwIfAborted();
    await this.#o.state.commit((tx) => registerNode(tx, node));
    this.#o.changed();
    return { heartbeatTtlMs: HEARTBEAT_TTL_MS, index: this.#o.state.index };
  }

  async heartbeat(...[nodeId, status, { signal }]: Parameters<ServerLink["heartbeat"]>): Promise<HeartbeatReply> {
    signal.throwIfAborted();
    await this.#o.state.commit((tx) => setNodeStatus(tx, nodeId, status, this.#o.newId));
    this.#o.changed();
    return { heartbeatTtlMs: HEARTBEAT_TTL_MS, index: this.#o.state.index };
  }

  async watchAllocs(o: Parameters<ServerLink["watchAllocs"]>[0]): Promise<DesiredAllocs> {
    o.signal.throwIfAborted();
    const stop = new AbortController();
    const signal = AbortSignal.any([o.signal, stop.signal]);
    const timeout = sleep(o.waitMs, { signal, clock: this.#o.clock }).then(
      () => stop.abort(),
      () => undefined,
    );
    try {
      // A node that knows nothing is told at once, also that there is nothing to do.
      while (o.minIndex > 0 && this.#o.state.desiredIndex(o.nodeId) <= o.minIndex) {
        if (!(await this.#o.state.feed.next(["allocs"], signal))) break;
      }
    } finally {
      stop.abort();
      await timeout;
    }
    o.signal.throwIfAborted();
    const allocs = new Map<string, number>();
    for (const alloc of this.#o.state.tables.allocs.by("node", o.nodeId)) allocs.set(alloc.ID, alloc.AllocModifyIndex);
    return { index: Math.max(1, this.#o.state.desiredIndex(o.nodeId)), allocs };
  }

  async getAllocs(...[ids, { signal }]: Parameters<ServerLink["getAllocs"]>): Promise<readonly Allocation[]> {
    signal.throwIfAborted();
    const found: Allocation[] = [];
    // One copy of a job for all of its allocations in this answer.
    const jobs = new Map<Job, Job>();
    for (const id of ids) {
      const alloc = this.#o.state.tables.allocs.get(id);
      if (alloc === undefined) continue;
      let job = alloc.Job === null ? null : jobs.get(alloc.Job);
      if (job === undefined) jobs.set(alloc.Job as Job, (job = copyPlain(alloc.Job as Job)));
      found.push({ ...copyPlain({ ...alloc, Job: null }), Job: job });
    }
    return found;
  }

  async findDisk(o: Parameters<ServerLink["findDisk"]>[0]): Promise<DiskLocation | undefined> {
    const { tables, feed } = this.#o.state;
    for (;;) {
      o.signal.throwIfAborted();
      const alloc = tables.allocs.get(o.allocId);
      if (alloc === undefined || alloc.NodeID === o.nodeId) return undefined;
      if (isClientTerminal(alloc.ClientStatus) || alloc.ClientStatus === "unknown") {
        const node = tables.nodes.get(alloc.NodeID);
        if (node === undefined || node.HTTPAddr === "") return undefined;
        const address = `${node.TLSEnabled ? "https" : "http"}://${node.HTTPAddr}`;
        return { address, token: migrateToken(alloc.ID, node.SecretID) };
      }
      await feed.next(["allocs"], o.signal);
    }
  }

  async updateAllocs(
    ...[updates, { signal }]: Parameters<ServerLink["updateAllocs"]>
  ): Promise<{ readonly index: number }> {
    signal.throwIfAborted();
    await this.#o.state.commit((tx) => applyAllocUpdates(tx, copyPlain(updates), this.#o.newId));
    this.#o.changed();
    return { index: this.#o.state.index };
  }

  async emitNodeEvents(...[nodeId, events, { signal }]: Parameters<ServerLink["emitNodeEvents"]>): Promise<void> {
    signal.throwIfAborted();
    await this.#o.state.commit((tx) => addNodeEvents(tx, nodeId, events));
  }

  serve(nodeId: string, handlers: NodeHandlers): Disposable {
    this.#handlers.set(nodeId, handlers);
    return {
      [Symbol.dispose]: () => {
        if (this.#handlers.get(nodeId) === handlers) this.#handlers.delete(nodeId);
      },
    };
  }
}
