import type { AckState, AllocUpdate } from "@outrider/alloc-runner";
import { sleep } from "@outrider/backoff";
import { createLatch } from "@outrider/alloc-runner";
import { createAllocSync, type AllocSync } from "@outrider/alloc-sync";
import { DisposeStack } from "@outrider/foundation";
import type { Node } from "@outrider/nomad-structs";
import { isClientTerminal } from "@outrider/nomad-structs";
import { AllocRegistry } from "./alloc-registry.ts";
import { AllocWatcher } from "./alloc-watcher.ts";
import { ackKey } from "./client-keys.ts";
import { ClientGc, DEFAULT_CLIENT_GC } from "./client-gc.ts";
import { HostStatsSampler } from "./host-stats.ts";
import { createLocalHandlers } from "./local-handlers.ts";
import type { NodeHandlers } from "./node-handlers.ts";
import type { NodeClientOptions } from "./node-options.ts";
import { Registration } from "./registration.ts";

/** How often runners save themselves, ms. */
const PERSIST_INTERVAL_MS = 60_000;
/** Bound of the last report at a stop, ms. */
const FLUSH_DEADLINE_MS = 1000;
/** How long the first registration waits for drivers to say what they can do. */
const DRIVER_WAIT_MS = 5000;

/** Numbers of `agent` status and metrics. */
export interface NodeCounts {
  readonly allocations: number;
  readonly migrating: number;
  readonly blocked: number;
  readonly pending: number;
  readonly running: number;
  readonly terminal: number;
  readonly tasks: { readonly pending: number; readonly running: number; readonly dead: number };
}

/** A node: runs what a server wants, and reports. */
export class NodeClient {
  readonly handlers: NodeHandlers;
  readonly registry: AllocRegistry;
  readonly #o: NodeClientOptions;
  readonly #sync: AllocSync<AllocUpdate, AckState>;
  readonly #registration: Registration;
  readonly #watcher: AllocWatcher;
  readonly #gc: ClientGc;
  readonly #contacted = createLatch();
  readonly #stopping = new AbortController();
  readonly #stack = new DisposeStack();
  readonly #loops: Array<Promise<void>> = [];
  #persistTimer: unknown;
  #stopped: Promise<void> | undefined;

  constructor(o: NodeClientOptions) {
    this.#o = o;
    const push = (update: AllocUpdate): void => {
      this.#sync.push(update);
      this.#o.onChange?.();
    };
    this.registry = new AllocRegistry(o, { push, serversContacted: this.#contacted.promise });
    this.#sync = createAllocSync<AllocUpdate, AckState>({
      send: async (batch, { signal }) => void (await o.link.updateAllocs(batch, { signal })),
      id: (update) => update.ID,
      priority: (update) => this.registry.get(update.ID)?.getUpdatePriority(update) ?? "unknown",
      toAck: ({ ClientStatus, ClientDescription, DeploymentStatus, TaskStates, NetworkStatus }) => ({
        ClientStatus,
        ClientDescription,
        DeploymentStatus,
        TaskStates,
        NetworkStatus,
      }),
      onAck: (acks) => this.#acknowledged(acks),
      ready: this.#contacted.promise,
      clock: o.clock,
      random: o.random,
      logger: o.logger,
    });
    this.#gc = new ClientGc({
      limits: o.gc ?? DEFAULT_CLIENT_GC,
      clock: o.clock,
      logger: o.logger,
      allocRoot: o.allocRoot,
      count: () => this.registry.size,
      destroy: (id) => this.#destroy(id),
    });
    this.#registration = new Registration(o);
    this.#watcher = new AllocWatcher(o, {
      registry: this.registry,
      contacted: () => this.#contacted.set(),
      remove: (id) => void this.#gc.remove(id),
      push,
    });
    const hostStats = new HostStatsSampler({
      clock: o.clock,
      allocRoot: o.allocRoot,
      mhz: Number(o.node.Attributes?.["cpu.frequency"] ?? 1000),
    });
    this.handlers = createLocalHandlers({ registry: this.registry, gc: this.#gc, hostStats, clock: o.clock });
  }

  /** The node as it is now. */
  get node(): Node {
    return this.#registration.node;
  }

  get heartbeat(): { readonly lastMs: number; readonly ttlMs: number } {
    return this.#registration.heartbeat;
  }

  /** Resolves when the first wish of the server was carried out. */
  get serversContacted(): Promise<void> {
    return this.#contacted.promise;
  }

  /** Restores, then registers, then follows the server. Resolves when the node is registered. */
  async start(): Promise<void> {
    const { signal } = this.#stopping;
    this.#stack.use(this.#o.drivers.onChange((change) => this.#registration.driverChanged(change)));
    this.#stack.use(
      this.#o.drivers.onTaskEvent((event) => {
        this.registry.get(event.allocId)?.taskEventHandler(event.taskName)?.({
          message: event.message,
          annotations: event.annotations,
          timestampMs: event.timestampMs,
        });
      }),
    );
    const drivers = this.#o.drivers.start(signal);
    this.#loop(drivers);
    const acks = await this.registry.restore();
    for (const [id, ack] of acks) {
      this.#sync.acknowledge(id, ack);
      if (isClientTerminal(ack.ClientStatus)) this.#gc.markEligible(id);
    }
    this.#stack.use(this.#o.link.serve(this.#o.node.ID, this.handlers));
    this.#sync.start(signal);
    this.#gc.start();
    this.#armPersist();
    // A node that says it is ready before it knows its drivers is given jobs that it then cannot place.
    await this.#firstAnswers(drivers, signal);
    await this.#registration.register(signal);
    this.#loop(this.#registration.run(signal));
    this.#loop(this.#watcher.run(signal));
  }

  /** Waits for the drivers' first answers, but not for long: one that hangs must not keep the node away. */
  async #firstAnswers(drivers: Promise<void>, signal: AbortSignal): Promise<void> {
    const cancel = new AbortController();
    const limit = sleep(DRIVER_WAIT_MS, { clock: this.#o.clock, signal: AbortSignal.any([signal, cancel.signal]) });
    await Promise.race([drivers, limit].map((p) => p.catch(() => undefined)));
    cancel.abort();
    signal.throwIfAborted();
  }

  /** Lets go of everything; tasks go on running. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  counts(): NodeCounts {
    const counts = {
      allocations: this.registry.size,
      migrating: 0,
      blocked: 0,
      pending: 0,
      running: 0,
      terminal: 0,
      tasks: { pending: 0, running: 0, dead: 0 },
    };
    for (const runner of this.registry.values()) {
      const state = runner.allocState();
      if (runner.isMigrating()) counts.migrating += 1;
      else if (runner.isWaiting()) counts.blocked += 1;
      else if (state.clientStatus === "running") counts.running += 1;
      else if (isClientTerminal(state.clientStatus)) counts.terminal += 1;
      else counts.pending += 1;
      for (const task of Object.values(state.taskStates)) {
        if (task.State === "pending" || task.State === "running" || task.State === "dead")
          counts.tasks[task.State] += 1;
      }
    }
    return counts;
  }

  async #stop(): Promise<void> {
    await this.#gc[Symbol.asyncDispose]();
    if (this.#persistTimer !== undefined) this.#o.clock.clearTimeout(this.#persistTimer);
    await this.registry.shutdown();
    await this.#sync.flush({ deadlineMs: FLUSH_DEADLINE_MS });
    this.#stopping.abort(new DOMException("the node stops", "AbortError"));
    await Promise.allSettled(this.#loops);
    await this.#stack[Symbol.asyncDispose]();
  }

  #loop(work: Promise<void>): void {
    this.#loops.push(
      work.catch((reason: unknown) => {
        if (!this.#stopping.signal.aborted) this.#o.logger.error({ err: reason }, "a loop of the node failed");
      }),
    );
  }

  /** All acknowledgements of a batch in one durable step; the ended ones may be collected from then on. */
  async #acknowledged(acks: ReadonlyMap<string, AckState>): Promise<void> {
    const put: Record<string, unknown> = {};
    for (const [id, ack] of acks) {
      const runner = this.registry.get(id);
      if (runner === undefined || runner.isDestroyed()) continue;
      runner.acknowledgeState(ack);
      put[ackKey(id)] = ack;
      if (isClientTerminal(ack.ClientStatus)) this.#gc.markEligible(id);
    }
    await this.#o.state.write({ put });
  }

  async #destroy(id: string): Promise<void> {
    await this.registry.destroy(id);
    this.#sync.forget(id);
  }

  #armPersist(): void {
    this.#persistTimer = this.#o.clock.setTimeout(() => {
      void Promise.allSettled([...this.registry.values()].map((runner) => runner.persistState())).then(() => {
        if (!this.#stopping.signal.aborted) this.#armPersist();
      });
    }, PERSIST_INTERVAL_MS);
  }
}

/** Makes a node; nothing happens before {@link NodeClient.start}. */
export function createNodeClient(o: NodeClientOptions): NodeClient {
  return new NodeClient(o);
}
