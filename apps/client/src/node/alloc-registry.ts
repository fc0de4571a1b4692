import type { AckState, AllocRunner, AllocRunnerConfig, AllocUpdate } from "@outrider/alloc-runner";
import { createLatch } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";
import { isOutriderError } from "@outrider/foundation";
import type { Allocation } from "@outrider/nomad-structs";
import { ackKey, allocKey, allocPrefix, ALLOCATIONS_PREFIX } from "./client-keys.ts";
import { invalidUpdate } from "./invalid-alloc.ts";
import type { NodeClientOptions } from "./node-options.ts";
import { PreviousAlloc } from "./previous-alloc.ts";

interface RegistryHooks {
  readonly push: (update: AllocUpdate) => void;
  readonly serversContacted: Promise<void>;
}

interface StoredAlloc {
  readonly alloc: Allocation | undefined;
  readonly hasTaskState: boolean;
}

/** The runners of this node: builds them, the same way for new and restored ones, and hands the server's wishes to them. */
export class AllocRegistry {
  readonly #o: NodeClientOptions;
  readonly #hooks: RegistryHooks;
  readonly #runners = new Map<string, AllocRunner<AllocDir>>();
  /** Allocations that could not be built, with the server index they were tried at. */
  readonly #invalid = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  /** Allocations whose disk is on its way to another one, until it is there. */
  readonly #held = new Map<string, Promise<void>>();

  constructor(o: NodeClientOptions, hooks: RegistryHooks) {
    this.#o = o;
    this.#hooks = hooks;
  }

  get size(): number {
    return this.#runners.size;
  }

  get(id: string): AllocRunner<AllocDir> | undefined {
    return this.#runners.get(id);
  }

  values(): IterableIterator<AllocRunner<AllocDir>> {
    return this.#runners.values();
  }

  ids(): string[] {
    return [...this.#runners.keys()];
  }

  isInvalid(id: string): boolean {
    return this.#invalid.has(id);
  }

  /** The server has removed it: it may come back under the same id only as something new. */
  forgetInvalid(keep: ReadonlyMap<string, number>): void {
    for (const id of this.#invalid) if (!keep.has(id)) this.#invalid.delete(id);
  }

  /** Loads what was running at the last end. Nothing starts before all are loaded. Gives the acknowledged states. */
  async restore(): Promise<Map<string, AckState>> {
    const acks = new Map<string, AckState>();
    const restored: Array<AllocRunner<AllocDir>> = [];
    const restoreStored = async ([id, { alloc, hasTaskState }]: [string, StoredAlloc]): Promise<void> => {
      if (alloc === undefined || alloc.Job === null || !hasTaskState) {
        // Without any task state it never started here, or its end was already cleaned up: the server decides anew.
        await this.#o.state.write({ deletePrefix: [allocPrefix(id)] });
        return;
      }
      const runner = await this.#restoreOne(alloc, acks);
      if (runner !== undefined) restored.push(runner);
    };
    await Promise.all([...this.#stored()].map(restoreStored));
    for (const runner of restored) this.#run(runner);
    return acks;
  }

  /** What is kept of each allocation, from one look at the store. */
  #stored(): Map<string, StoredAlloc> {
    const stored = new Map<string, StoredAlloc>();
    for (const [key, value] of this.#o.state.list(ALLOCATIONS_PREFIX)) {
      const id = key.slice(ALLOCATIONS_PREFIX.length).split("/")[0];
      if (id === undefined || id === "") continue;
      const known = stored.get(id);
      stored.set(id, {
        alloc: key === allocKey(id) ? (value as Allocation) : known?.alloc,
        hasTaskState: known?.hasTaskState === true || key.startsWith(`${allocPrefix(id)}task-`),
      });
    }
    return stored;
  }

  async #restoreOne(alloc: Allocation, acks: Map<string, AckState>): Promise<AllocRunner<AllocDir> | undefined> {
    const logger = this.#o.logger.child({ allocId: alloc.ID });
    let runner: AllocRunner<AllocDir>;
    try {
      runner = await this.#build(alloc, true);
    } catch (reason) {
      this.#markInvalid(alloc, reason);
      return undefined;
    }
    this.#runners.set(alloc.ID, runner);
    try {
      await runner.restore();
    } catch (reason) {
      logger.error({ err: reason }, "allocation could not be restored; it is reported as failed and cleaned up");
      runner.setClientStatus("failed");
      this.#hooks.push({
        ...invalidUpdate(alloc, this.#o.node.ID, reason, this.#o.clock.now()),
        ClientDescription: "Unable to restore allocation",
      });
      runner.destroy();
      return undefined;
    }
    const ack = this.#o.state.get<AckState>(ackKey(alloc.ID));
    if (ack !== undefined) {
      runner.acknowledgeState(ack);
      acks.set(alloc.ID, ack);
    }
    return runner;
  }

  /** Starts a new allocation, or reports why it cannot be. Rejects when its state cannot be kept now, but may be later. */
  async add(alloc: Allocation): Promise<void> {
    if (this.#runners.has(alloc.ID)) return;
    try {
      await this.#o.state.write({ put: { [allocKey(alloc.ID)]: alloc } });
      const runner = await this.#build(alloc, false);
      this.#runners.set(alloc.ID, runner);
      this.#run(runner);
    } catch (reason) {
      if (isOutriderError(reason) && reason.recoverable && reason.code.startsWith("ERR_OUTRIDER_STATE_")) throw reason;
      this.#markInvalid(alloc, reason);
      await this.#o.state.write({ deletePrefix: [allocPrefix(alloc.ID)] }).catch(() => undefined);
    }
  }

  /** Hands a new server version to its runner. */
  async update(alloc: Allocation): Promise<void> {
    const runner = this.#runners.get(alloc.ID);
    if (runner === undefined) return;
    if (alloc.ClientStatus === "unknown" && alloc.DesiredStatus === "run") {
      await runner.reconnect(alloc);
      return;
    }
    await this.#o.state.write({ put: { [allocKey(alloc.ID)]: alloc } });
    runner.update(alloc);
  }

  /** Stops and removes one; resolves when nothing of it is left. */
  async destroy(id: string): Promise<void> {
    await this.#held.get(id);
    const runner = this.#runners.get(id);
    if (runner === undefined) return;
    runner.destroy();
    await runner.destroyDone;
    this.#runners.delete(id);
    this.#o.onRemoved?.(id);
    this.#o.onChange?.();
  }

  /** Lets go of all tasks without stopping them; resolves when all runners have let go. */
  async shutdown(): Promise<void> {
    const runners = [...this.#runners.values()];
    for (const runner of runners) runner.shutdown();
    await Promise.all(runners.map((runner) => runner.shutdownDone));
  }

  #run(runner: AllocRunner<AllocDir>): void {
    const run = runner
      .run()
      .catch((reason: unknown) =>
        this.#o.logger.error({ err: reason, allocId: runner.alloc().ID }, "an allocation's run loop failed"),
      )
      .finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  #markInvalid(alloc: Allocation, reason: unknown): void {
    this.#o.logger.error({ err: reason, allocId: alloc.ID }, "allocation cannot be run");
    this.#invalid.add(alloc.ID);
    if (alloc.ClientStatus !== "failed")
      this.#hooks.push(invalidUpdate(alloc, this.#o.node.ID, reason, this.#o.clock.now()));
  }

  async #build(alloc: Allocation, restored: boolean): Promise<AllocRunner<AllocDir>> {
    const telemetry = this.#o.telemetry?.(alloc.Namespace);
    const config: AllocRunnerConfig<AllocDir> = {
      alloc,
      logger: this.#o.logger.child({ allocId: alloc.ID }),
      clock: this.#o.clock,
      random: this.#o.random,
      state: this.#o.state,
      stateUpdater: { allocStateUpdated: (update) => this.#hooks.push(update) },
      ...(telemetry === undefined ? {} : { telemetry }),
      ...(restored ? { serversContacted: this.#hooks.serversContacted } : {}),
      // A restored one too: it may have been interrupted before it had its disk.
      prevAllocs: new PreviousAlloc({
        alloc,
        nodeId: this.#o.node.ID,
        allocRoot: this.#o.allocRoot,
        runnerOf: (id) => this.#runners.get(id),
        link: this.#o.link,
        hold: (id) => this.#hold(id),
      }),
    };
    return this.#o.buildRunner(config);
  }

  /** Keeps an allocation while another one takes over its disk. */
  #hold(id: string): () => void {
    const latch = createLatch();
    this.#held.set(id, latch.promise);
    return () => {
      latch.set();
      if (this.#held.get(id) === latch.promise) this.#held.delete(id);
    };
  }
}
