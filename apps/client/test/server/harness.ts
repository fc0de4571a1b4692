import { ManualClock } from "@outrider/backoff/testing";
import type { AllocUpdate } from "@outrider/alloc-runner";
import type { Allocation, Job, Node, TaskState } from "@outrider/nomad-structs";
import { make, NodeStruct, TaskStateStruct } from "@outrider/nomad-structs";
import { createJobRules } from "../../src/agent/job-rules.ts";
import { createEmbeddedServer, jobKey, type EmbeddedServer } from "../../src/server/index.ts";
import { createMemoryStore, type StateStore } from "../../src/state/index.ts";

export const NODE_ID = "11111111-1111-1111-1111-111111111111";

/** A node with room for a few tasks. */
export function testNode(more: Partial<Node> = {}): Node {
  return make(NodeStruct, {
    ID: NODE_ID,
    SecretID: "22222222-2222-2222-2222-222222222222",
    Name: "node1",
    Datacenter: "dc1",
    NodePool: "default",
    Attributes: {
      "kernel.name": "linux",
      "cpu.arch": "amd64",
      "nomad.version": "2.0.5",
      "nomad.service_discovery": "true",
      "os.signals": "SIGHUP,SIGINT,SIGTERM",
      "unique.network.ip-address": "127.0.0.1",
      "driver.raw_exec": "1",
    },
    Meta: { rack: "r1" },
    Drivers: {
      raw_exec: { Attributes: {}, Detected: true, Healthy: true, HealthDescription: "Healthy", UpdateTime: null },
    },
    NodeResources: {
      Cpu: { CpuShares: 1000, TotalCpuCores: 2, ReservableCpuCores: [0, 1] },
      Memory: { MemoryMB: 1000 },
      Disk: { DiskMB: 10_000 },
      MinDynamicPort: 20_000,
      MaxDynamicPort: 20_003,
    },
    SchedulingEligibility: "eligible",
    ...more,
  } as never);
}

/** A submitted job body. */
export function jobBody(
  id: string,
  more: Record<string, unknown> = {},
  group: Record<string, unknown> = {},
  task: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    ID: id,
    Name: id,
    Type: "service",
    Datacenters: ["*"],
    TaskGroups: [
      {
        Name: "g",
        Count: 1,
        Tasks: [
          {
            Name: "t",
            Driver: "raw_exec",
            Config: { command: "/bin/sleep", args: ["60"] },
            Resources: { CPU: 100, MemoryMB: 100 },
            ...task,
          },
        ],
        ...group,
      },
    ],
    ...more,
  };
}

/** An embedded server on a clock that stands still, and the node's part played by the test. */
export class ServerHarness {
  readonly clock: ManualClock;
  readonly store: StateStore;
  server: EmbeddedServer;
  #nextId = 0;

  constructor(o: { store?: StateStore; clock?: ManualClock } = {}) {
    this.clock = o.clock ?? new ManualClock();
    this.store = o.store ?? createMemoryStore();
    this.server = this.#make();
  }

  #make(): EmbeddedServer {
    return createEmbeddedServer({
      store: this.store,
      clock: this.clock,
      rules: createJobRules({ drivers: () => ["raw_exec"], region: "global" }),
      random: () => 0,
      newId: () => `${String(++this.#nextId).padStart(8, "0")}-0000-4000-8000-000000000000`,
    });
  }

  async start(node: Node = testNode()): Promise<this> {
    this.server.start();
    await this.join(node);
    return this;
  }

  async join(node: Node = testNode()): Promise<void> {
    const signal = new AbortController().signal;
    await this.server.link.register(node, { signal });
    await this.server.link.heartbeat(node.ID, "ready", { signal });
    await this.settle();
  }

  /** A new server over the same state, as after kill −9. */
  async restart(): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    this.server = this.#make();
    this.server.start();
    await this.settle();
  }

  async settle(): Promise<void> {
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      await this.server.idle();
    }
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.settle();
  }

  async submit(
    body: Record<string, unknown>,
    o: Parameters<EmbeddedServer["register"]>[1] = {},
  ): ReturnType<EmbeddedServer["register"]> {
    const reply = await this.server.register(body, o);
    await this.settle();
    return reply;
  }

  job(id: string): Job {
    return this.server.state.tables.jobs.get(jobKey("default", id))!;
  }

  allocs(jobId: string, group?: string): Allocation[] {
    return this.server.state.tables.allocs
      .by("job", jobKey("default", jobId))
      .filter((a) => group === undefined || a.TaskGroup === group)
      .sort((a, b) => a.CreateIndex - b.CreateIndex || (a.ID < b.ID ? -1 : 1));
  }

  live(jobId: string): Allocation[] {
    return this.allocs(jobId).filter(
      (a) => a.DesiredStatus === "run" && !["complete", "failed", "lost"].includes(a.ClientStatus),
    );
  }

  evals(jobId: string): ReturnType<EmbeddedServer["state"]["tables"]["evals"]["by"]> {
    return this.server.state.tables.evals
      .by("job", jobKey("default", jobId))
      .sort((a, b) => a.CreateIndex - b.CreateIndex);
  }

  deployments(jobId: string): ReturnType<EmbeddedServer["state"]["tables"]["deployments"]["by"]> {
    return this.server.state.tables.deployments
      .by("job", jobKey("default", jobId))
      .sort((a, b) => a.CreateIndex - b.CreateIndex);
  }

  summary(jobId: string): Record<string, number> | undefined {
    return this.server.state.tables.summaries.get(jobKey("default", jobId))?.Summary?.["g"] as never;
  }

  async report(alloc: Allocation, status: string, more: Partial<AllocUpdate> = {}): Promise<void> {
    const now = new Date(this.clock.now()).toISOString();
    const dead = status !== "running" && status !== "pending";
    const states: Record<string, TaskState> = Object.fromEntries(
      (alloc.Job?.TaskGroups?.find((g) => g.Name === alloc.TaskGroup)?.Tasks ?? []).map((t) => [
        t.Name,
        make(TaskStateStruct, {
          State: dead ? "dead" : status,
          Failed: status === "failed",
          StartedAt: now,
          FinishedAt: dead ? now : null,
        }),
      ]),
    );
    await this.server.link.updateAllocs(
      [
        {
          ID: alloc.ID,
          NodeID: NODE_ID,
          ClientStatus: status,
          ClientDescription: status,
          TaskStates: states,
          DeploymentStatus: alloc.DeploymentStatus,
          NetworkStatus: null,
          ...more,
        },
      ],
      { signal: new AbortController().signal },
    );
    await this.settle();
  }

  health(healthy: boolean): Partial<AllocUpdate> {
    return {
      DeploymentStatus: {
        Healthy: healthy,
        Timestamp: new Date(this.clock.now()).toISOString(),
        Canary: false,
        ModifyIndex: 0,
      },
    };
  }

  /** Plays a well-behaved node: stops what is to stop, runs what is to run, reports it healthy. */
  async obey(jobId: string, healthy = true): Promise<void> {
    for (let round = 0; round < 20; round++) {
      let changed = false;
      for (const alloc of this.allocs(jobId)) {
        if (alloc.DesiredStatus !== "run" && !["complete", "failed"].includes(alloc.ClientStatus)) {
          await this.report(alloc, "complete");
          changed = true;
        } else if (alloc.DesiredStatus === "run" && alloc.ClientStatus === "pending") {
          await this.report(alloc, "running", healthy ? this.health(true) : {});
          changed = true;
        } else if (
          healthy &&
          alloc.DesiredStatus === "run" &&
          alloc.ClientStatus === "running" &&
          alloc.DeploymentID !== "" &&
          alloc.DeploymentStatus?.Healthy !== true
        ) {
          await this.report(alloc, "running", this.health(true));
          changed = true;
        }
      }
      if (!changed) return;
    }
    throw new Error("no rest is reached");
  }
}
