import { sleep, staggered } from "@outrider/backoff";
import type { Allocation } from "@outrider/nomad-structs";
import { isClientTerminal, isServerTerminal } from "@outrider/nomad-structs";
import type { AllocUpdate } from "@outrider/alloc-runner";
import type { AllocRegistry } from "./alloc-registry.ts";
import type { NodeClientOptions } from "./node-options.ts";

/** Longest wait for a change, ms. */
const WATCH_WAIT_MS = 300_000;

interface WatcherHooks {
  readonly registry: AllocRegistry;
  /** Called once the first wish of the server was carried out. */
  readonly contacted: () => void;
  readonly remove: (id: string) => void;
  readonly push: (update: AllocUpdate) => void;
}

/** Follows what the server wants to run here, and carries it out. */
export class AllocWatcher {
  readonly #o: NodeClientOptions;
  readonly #hooks: WatcherHooks;
  #index = 0;

  constructor(o: NodeClientOptions, hooks: WatcherHooks) {
    this.#o = o;
    this.#hooks = hooks;
  }

  /** Runs until the signal; failures of the server are waited out. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#once(signal);
      } catch (reason) {
        if (signal.aborted) return;
        this.#o.logger.warn({ err: reason }, "the server's allocations could not be read; trying again");
        await sleep(1000 + staggered(4000, this.#o.random), { signal, clock: this.#o.clock }).catch(() => undefined);
      }
    }
  }

  async #once(signal: AbortSignal): Promise<void> {
    const desired = await this.#o.link.watchAllocs({
      nodeId: this.#o.node.ID,
      minIndex: this.#index,
      waitMs: WATCH_WAIT_MS,
      signal,
    });
    // A server that lags behind must never make anything stop (hashicorp/nomad#18267).
    if (desired.index <= this.#index) return;
    const wanted = [...desired.allocs].filter(([id, index]) => this.#isNew(id, index)).map(([id]) => id);
    const allocs = wanted.length === 0 ? [] : await this.#o.link.getAllocs(wanted, { signal });
    if (allocs.length < wanted.length) {
      await sleep(2000 + staggered(2000, this.#o.random), { signal, clock: this.#o.clock });
      return;
    }
    this.#removeMissing(desired.allocs);
    const results = await Promise.allSettled(allocs.map((alloc) => this.#apply(alloc)));
    this.#hooks.contacted();
    // What a full disk kept from starting is tried again: its index counts as not seen.
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    this.#index = desired.index;
  }

  #isNew(id: string, index: number): boolean {
    if (this.#hooks.registry.isInvalid(id)) return false;
    const runner = this.#hooks.registry.get(id);
    return runner === undefined ? !this.#settled.has(`${id}@${index}`) : index > runner.alloc().AllocModifyIndex;
  }

  /** Versions of allocations for which nothing is to be done here. */
  readonly #settled = new Set<string>();

  #removeMissing(wanted: ReadonlyMap<string, number>): void {
    for (const id of this.#hooks.registry.ids()) if (!wanted.has(id)) this.#hooks.remove(id);
    this.#hooks.registry.forgetInvalid(wanted);
    for (const key of this.#settled) {
      const [id = "", index] = key.split("@");
      if (wanted.get(id) !== Number(index)) this.#settled.delete(key);
    }
  }

  async #apply(alloc: Allocation): Promise<void> {
    if (this.#hooks.registry.get(alloc.ID) !== undefined) {
      await this.#hooks.registry.update(alloc);
      return;
    }
    if (isClientTerminal(alloc.ClientStatus)) {
      // It ended and was removed here; it must not run again (hashicorp/nomad#5883).
      this.#settled.add(`${alloc.ID}@${alloc.AllocModifyIndex}`);
      return;
    }
    if (isServerTerminal(alloc.DesiredStatus)) {
      this.#settled.add(`${alloc.ID}@${alloc.AllocModifyIndex}`);
      this.#hooks.push(neverStarted(alloc, this.#o.node.ID));
      return;
    }
    await this.#hooks.registry.add(alloc);
  }
}

/** The server stopped it before it came here: it is over. */
function neverStarted(alloc: Allocation, nodeId: string): AllocUpdate {
  return {
    ID: alloc.ID,
    NodeID: nodeId,
    ClientStatus: "complete",
    ClientDescription: "Allocation was stopped before it started on this node",
    TaskStates: alloc.TaskStates,
    DeploymentStatus: alloc.DeploymentStatus,
    NetworkStatus: alloc.NetworkStatus,
  };
}
