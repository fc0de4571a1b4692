import { readFileSync } from "node:fs";
import type { AllocRunner, AllocUpdate } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";
import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger } from "@outrider/foundation";
import {
  AllocationStruct,
  JobStruct,
  make,
  NodeStruct,
  type Allocation,
  type Job,
  type TaskEvent,
} from "@outrider/nomad-structs";
import { createAllocRunner, type ClientAllocRunnerConfig } from "../../../src/alloc/index.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import type { StateStore } from "../../../src/state/state-store.ts";
import { fakeAllocDir } from "./fake-alloc-dir.ts";
import { FakeMachine } from "./fake-driver.ts";

export const ALLOC_ID = "5456bd7a-9fc0-c0dd-6131-cbee77f57577";

/** A recorded run of a stock agent. */
export interface Scenario {
  readonly job: unknown;
  readonly actions: ReadonlyArray<{ readonly ms: number; readonly action: string }>;
  readonly events: ReadonlyArray<{
    readonly ms: number;
    readonly task: string;
    readonly type: string;
    readonly display_message: string;
    readonly details: Record<string, string>;
  }>;
  readonly final: {
    readonly client_status: string;
    readonly client_description: string;
    readonly deployment_status: { readonly Healthy: boolean; readonly Timestamp_set?: boolean } | null;
    readonly tasks: Record<string, Record<string, unknown>>;
  };
}

export function loadScenario(name: string): Scenario {
  const url = new URL(`../../fixtures/events/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, "utf8")) as Scenario;
}

/** A whole job from a few fields. */
export function jobOf(input: unknown): Job {
  return make(JobStruct, input as Parameters<typeof make<Job>>[1]);
}

export function allocOf(job: Job, clock: ManualClock): Allocation {
  const group = job.TaskGroups?.[0];
  const granted = {
    Cpu: { CpuShares: 20, ReservedCores: null },
    Memory: { MemoryMB: 32, MemoryMaxMB: 0 },
    Networks: null,
    Devices: null,
  };
  const alloc = make(AllocationStruct, {
    ID: ALLOC_ID,
    Namespace: "default",
    Name: `${job.ID}.${group?.Name}[0]`,
    NodeID: "node-1",
    JobID: job.ID,
    TaskGroup: group?.Name ?? "",
    AllocatedResources: {
      Tasks: Object.fromEntries((group?.Tasks ?? []).map((t) => [t.Name, granted])),
      Shared: { DiskMB: 300 },
    },
    DesiredStatus: "run",
    ClientStatus: "pending",
    DeploymentID: job.Type === "service" ? "deployment-1" : "",
    AllocModifyIndex: 1,
    CreateTime: clock.now() * 1e6,
  });
  return { ...alloc, Job: job };
}

export interface HarnessOptions {
  readonly job: unknown;
  readonly config?: Partial<ClientAllocRunnerConfig>;
  readonly alloc?: Partial<Allocation>;
  readonly startAt?: number;
}

/** One allocation on a fake machine with a manual clock; agents come and go. */
export class Harness {
  readonly clock: ManualClock;
  readonly machine: FakeMachine;
  readonly store: StateStore = createMemoryStore();
  readonly updates: AllocUpdate[] = [];
  readonly logCalls: string[] = [];
  readonly counts: string[] = [];
  readonly allocDir = fakeAllocDir(ALLOC_ID);
  runner!: AllocRunner<AllocDir>;
  serverAlloc: Allocation;
  readonly #config: Partial<ClientAllocRunnerConfig>;
  /** Called with the number of each state write; the answer kills the agent before or after it takes effect. */
  onWrite: ((n: number) => "before" | "after" | undefined) | undefined;
  writes = 0;
  #session = { dead: false };
  #running: Promise<void> | undefined;

  constructor(options: HarnessOptions) {
    this.clock = new ManualClock(options.startAt === undefined ? {} : { now: options.startAt });
    this.machine = new FakeMachine(this.clock);
    this.serverAlloc = { ...allocOf(jobOf(options.job), this.clock), ...options.alloc };
    this.#config = options.config ?? {};
  }

  /** A new agent on the same machine and state. */
  async agent(o: { readonly restore?: boolean; readonly serversContacted?: Promise<void> } = {}): Promise<this> {
    const session = { dead: false };
    this.#session = session;
    const never = new Promise<never>(() => undefined);
    const cut = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (of, key) => {
          const value: unknown = Reflect.get(of, key);
          if (typeof value !== "function") return value;
          return (...args: unknown[]) =>
            session.dead ? never : (value as (...a: unknown[]) => unknown).apply(of, args);
        },
      });
    this.runner = await createAllocRunner({
      alloc: this.serverAlloc,
      logger: noopLogger,
      clock: this.clock,
      random: () => 0.3,
      state: this.#crashing(cut(this.store), session),
      stateUpdater: {
        allocStateUpdated: (update) => {
          if (!session.dead) this.updates.push(update);
        },
      },
      drivers: {
        dispense: async (name, options) => {
          if (session.dead) return never;
          const instance = await this.machine.dispense(name, options);
          return { ...instance, plugin: cut(instance.plugin) };
        },
      },
      encodeDriverConfig: (_schema, config) => {
        const unknown = Object.keys(config).find((key) => !["command", "args"].includes(key));
        if (unknown !== undefined) throw new Error(`no argument or block is named ${JSON.stringify(unknown)}`);
        return Buffer.from(JSON.stringify(config));
      },
      logCollector: {
        start: async ({ id }) => void this.logCalls.push(`start ${id.split("/")[1]}`),
        stop: async (id) => void this.logCalls.push(`stop ${id.split("/")[1]}`),
      },
      newAllocDir: () => this.allocDir,
      node: () =>
        make(NodeStruct, {
          ID: "node-1",
          Name: "n1",
          Datacenter: "dc1",
          NodePool: "default",
          Attributes: { "kernel.name": "linux" },
        }),
      region: "global",
      limits: { maxKillTimeoutMs: 30_000 },
      stats: { publish: false, intervalMs: 1_000, collect: false },
      counters: { count: (what, task) => this.counts.push(`${task} ${what}`) },
      ...(o.serversContacted === undefined ? {} : { serversContacted: o.serversContacted }),
      ...this.#config,
    });
    if (o.restore === true) await this.runner.restore();
    this.#running = this.runner.run();
    await this.clock.flush();
    return this;
  }

  #crashing(store: StateStore, session: { dead: boolean }): StateStore {
    const write: StateStore["write"] = async (batch) => {
      const crash = session.dead ? undefined : this.onWrite?.(++this.writes);
      if (crash === "before") session.dead = true;
      await store.write(batch);
      if (crash === "after") {
        session.dead = true;
        await new Promise<never>(() => undefined);
      }
    };
    return new Proxy(store, { get: (of, key) => (key === "write" ? write : Reflect.get(of, key)) });
  }

  get agentIsDead(): boolean {
    return this.#session.dead;
  }

  /** kill −9 of the agent: from here on nothing that it does has any effect. */
  killAgent(): void {
    this.#session.dead = true;
  }

  /** The server's new version. */
  serverUpdate(change: Partial<Allocation>): void {
    this.serverAlloc = { ...this.serverAlloc, ...change, AllocModifyIndex: this.serverAlloc.AllocModifyIndex + 1 };
    this.runner.update(this.serverAlloc);
  }

  stop(o: { readonly noShutdownDelay?: boolean } = {}): void {
    const transition = {
      ...this.serverAlloc.DesiredTransition,
      NoShutdownDelay: o.noShutdownDelay === true ? true : null,
    };
    this.serverUpdate({ DesiredStatus: "stop", DesiredTransition: transition });
  }

  /** The same group with other fields. */
  updateJob(change: (job: Job) => void): void {
    const job = structuredClone(this.serverAlloc.Job as Job);
    change(job);
    this.serverUpdate({ Job: job });
  }

  async done(): Promise<void> {
    await this.#running;
  }

  events(task = "main"): TaskEvent[] {
    return this.runner.allocState().taskStates[task]?.Events ?? [];
  }

  types(task = "main"): string[] {
    return this.events(task).map((e) => e.Type);
  }

  get status(): string {
    return this.runner.allocState().clientStatus;
  }

  state(task = "main"): NonNullable<AllocUpdate["TaskStates"]>[string] {
    return this.runner.allocState().taskStates[task] as NonNullable<AllocUpdate["TaskStates"]>[string];
  }
}

/** A service job of one main task. */
export function oneTask(
  script: string,
  o: { readonly task?: object; readonly group?: object; readonly job?: object } = {},
): unknown {
  return {
    ID: "job",
    Name: "job",
    Type: "service",
    TaskGroups: [
      {
        Name: "g",
        Count: 1,
        RestartPolicy: { Attempts: 2, Interval: 60e9, Delay: 1e9, Mode: "fail" },
        Tasks: [
          {
            Name: "main",
            Driver: "raw_exec",
            KillTimeout: 5e9,
            Config: { command: "/bin/sh", args: ["-c", script] },
            ...o.task,
          },
        ],
        ...o.group,
      },
    ],
    ...o.job,
  };
}
