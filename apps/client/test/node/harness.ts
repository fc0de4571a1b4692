import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger } from "@outrider/foundation";
import type { Allocation, Node } from "@outrider/nomad-structs";
import { AllocationStruct, JobStruct, make } from "@outrider/nomad-structs";
import {
  createNodeClient,
  type AllocUpdate,
  type NodeClient,
  type NodeClientOptions,
  type NodeHandlers,
  type ServerLink,
} from "../../src/node/index.ts";
import type { DiskLocation } from "../../src/node/server-link.ts";
import { createMemoryStore, type StateStore } from "../../src/state/index.ts";
import { fakeDrivers } from "../agent/fake-drivers.ts";
import { FakeRunners } from "../agent/fake-runner.ts";
import { testNode } from "../server/harness.ts";

/** A server whose every answer the test decides. */
export class FakeLink implements ServerLink {
  readonly calls: string[] = [];
  readonly updates: AllocUpdate[][] = [];
  readonly nodes: Node[] = [];
  readonly events: unknown[] = [];
  handlers: NodeHandlers | undefined;
  desired = new Map<string, Allocation>();
  index = 0;
  failRegister = 0;
  failUpdates = 0;
  failWatch = 0;
  hideAllocs = false;
  ttlMs = 10_000;
  #wake: Array<() => void> = [];

  /** Changes what should run, as of a new index. */
  want(allocs: readonly Allocation[], index = this.index + 10): void {
    this.index = index;
    this.desired = new Map(allocs.map((a) => [a.ID, a]));
    for (const wake of this.#wake.splice(0)) wake();
  }

  async register(node: Node): ReturnType<ServerLink["register"]> {
    this.calls.push("register");
    if (this.failRegister-- > 0) throw new Error("no server");
    this.nodes.push(structuredClone(node));
    return { heartbeatTtlMs: this.ttlMs, index: 1 };
  }
  async heartbeat(_id: string, status: string): ReturnType<ServerLink["heartbeat"]> {
    this.calls.push(`heartbeat ${status}`);
    return { heartbeatTtlMs: this.ttlMs, index: 1 };
  }
  async watchAllocs(o: Parameters<ServerLink["watchAllocs"]>[0]): ReturnType<ServerLink["watchAllocs"]> {
    this.calls.push(`watch ${o.minIndex}`);
    if (this.failWatch-- > 0) throw new Error("no server");
    if (o.minIndex >= this.index || this.index === 0) {
      await new Promise<void>((resolve, reject) => {
        this.#wake.push(resolve);
        o.signal.addEventListener("abort", () => reject(o.signal.reason as Error), { once: true });
      });
    }
    return { index: this.index, allocs: new Map([...this.desired].map(([id, a]) => [id, a.AllocModifyIndex])) };
  }
  async getAllocs(ids: readonly string[]): ReturnType<ServerLink["getAllocs"]> {
    this.calls.push(`get ${ids.length}`);
    return this.hideAllocs ? [] : ids.flatMap((id) => this.desired.get(id) ?? []).map((a) => structuredClone(a));
  }
  disk: DiskLocation | undefined;
  async findDisk(o: Parameters<ServerLink["findDisk"]>[0]): Promise<DiskLocation | undefined> {
    this.calls.push(`disk ${o.allocId}`);
    return this.disk;
  }
  async updateAllocs(updates: readonly AllocUpdate[]): ReturnType<ServerLink["updateAllocs"]> {
    this.calls.push(`update ${updates.length}`);
    if (this.failUpdates-- > 0) throw new Error("no server");
    this.updates.push([...updates]);
    return { index: this.index };
  }
  async emitNodeEvents(_id: string, events: readonly unknown[]): Promise<void> {
    this.events.push(...events);
  }
  serve(_id: string, handlers: NodeHandlers): Disposable {
    this.handlers = handlers;
    return { [Symbol.dispose]: () => void (this.handlers = undefined) };
  }

  last(id: string): AllocUpdate | undefined {
    return this.updates
      .flat()
      .filter((u) => u.ID === id)
      .at(-1);
  }
}

const job = make(JobStruct, {
  ID: "web",
  Name: "web",
  Type: "service",
  Namespace: "default",
  TaskGroups: [{ Name: "g", Count: 1, Tasks: [{ Name: "t", Driver: "raw_exec" }] }],
} as never);

/** An allocation as a server sends it. */
export function alloc(id: string, more: Partial<Allocation> = {}): Allocation {
  return make(AllocationStruct, {
    ID: id,
    Name: "web.g[0]",
    NodeID: testNode().ID,
    JobID: "web",
    Namespace: "default",
    TaskGroup: "g",
    DesiredStatus: "run",
    ClientStatus: "pending",
    AllocModifyIndex: 5,
    Job: job,
    ...more,
  } as never);
}

/** A node on a clock that stands still. */
export class NodeHarness {
  readonly clock: ManualClock;
  readonly state: StateStore;
  readonly link: FakeLink;
  readonly runners: FakeRunners;
  readonly dir = mkdtempSync(join(tmpdir(), "outrider-node-"));
  readonly logs: Array<[level: string, message: string]> = [];
  readonly drivers = fakeDrivers();
  node: NodeClient;

  constructor(
    o: {
      clock?: ManualClock;
      state?: StateStore;
      link?: FakeLink;
      runners?: FakeRunners;
      options?: Partial<NodeClientOptions>;
    } = {},
  ) {
    this.clock = o.clock ?? new ManualClock();
    this.state = o.state ?? createMemoryStore();
    this.link = o.link ?? new FakeLink();
    this.runners = o.runners ?? new FakeRunners();
    const log = (level: string) => (a: unknown, b?: unknown) => void this.logs.push([level, String(b ?? a)]);
    const logger = {
      ...noopLogger,
      debug: log("debug"),
      info: log("info"),
      warn: log("warn"),
      error: log("error"),
      child: () => logger,
    } as never;
    this.node = createNodeClient({
      node: testNode({ Status: "initializing", Drivers: {} }),
      link: this.link,
      state: this.state,
      buildRunner: this.runners.build,
      drivers: this.drivers,
      clock: this.clock,
      logger,
      random: () => 0,
      allocRoot: this.dir,
      ...o.options,
    });
  }

  /** The next life of the same node: the former vanished, or was stopped. */
  next(o: { runners?: FakeRunners; options?: Partial<NodeClientOptions> } = {}): NodeHarness {
    return new NodeHarness({ clock: this.clock, state: this.state, link: this.link, ...o });
  }

  async start(): Promise<this> {
    const started = this.node.start();
    await this.advance(0);
    await started;
    await this.settle();
    return this;
  }

  async settle(): Promise<void> {
    for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  async advance(ms: number): Promise<void> {
    await this.settle();
    for (let left = ms; left > 0; left -= 100) {
      await this.clock.advance(Math.min(100, left));
      await this.settle();
    }
  }

  async close(): Promise<void> {
    const stopped = this.node.stop();
    await this.settle();
    await this.clock.advance(2000);
    await stopped;
    rmSync(this.dir, { recursive: true, force: true });
  }
}
