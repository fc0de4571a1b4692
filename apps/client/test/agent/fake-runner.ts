import {
  createBroadcaster,
  createLatch,
  updatePriority,
  type AckState,
  type AllocRunner,
  type AllocRunnerConfig,
  type AllocUpdate,
} from "@outrider/alloc-runner";
import type { PauseState } from "../../src/node/index.ts";
import type { AllocDir, AllocDirFS } from "@outrider/allocdir-interface";
import type { Allocation, TaskState } from "@outrider/nomad-structs";
import { AllocResourceUsageStruct, make, ResourceUsageStruct, TaskStateStruct } from "@outrider/nomad-structs";

/** What a fake allocation does when it is started. */
export interface FakeBehaviour {
  /** Ends at once with this exit code instead of running on. */
  readonly exitCode?: number;
  readonly healthy?: boolean;
  readonly failBuild?: string;
  readonly failRestore?: string;
  readonly files?: AllocDirFS;
}

/** A runner without processes: states only, kept like the real one keeps them. */
export class FakeRunner implements AllocRunner<AllocDir> {
  readonly calls: string[] = [];
  readonly #config: AllocRunnerConfig<AllocDir>;
  readonly #behaviour: FakeBehaviour;
  readonly #broadcast = createBroadcaster<AllocUpdate>();
  readonly #wait = createLatch();
  readonly #destroy = createLatch();
  readonly #shutdown = createLatch();
  readonly waitDone = this.#wait.promise;
  readonly destroyDone = this.#destroy.promise;
  readonly shutdownDone = this.#shutdown.promise;
  readonly #pause = new Map<string, PauseState>();
  #alloc: Allocation;
  #states: Record<string, TaskState> = {};
  #status = "pending";
  #forced: string | undefined;
  #health: Allocation["DeploymentStatus"] = null;
  #ack: AckState | undefined;
  #destroyed = false;

  constructor(config: AllocRunnerConfig<AllocDir>, behaviour: FakeBehaviour) {
    this.#config = config;
    this.#behaviour = behaviour;
    this.#alloc = config.alloc;
    for (const task of this.#tasks()) this.#states[task] = make(TaskStateStruct, { State: "pending" });
  }

  #tasks(): string[] {
    return (this.#alloc.Job?.TaskGroups?.find((g) => g.Name === this.#alloc.TaskGroup)?.Tasks ?? []).map((t) => t.Name);
  }

  #now(): string {
    return new Date(this.#config.clock.now()).toISOString();
  }

  alloc(): Allocation {
    return this.#alloc;
  }

  async run(): Promise<void> {
    await this.#config.prevAllocs?.wait(new AbortController().signal);
    if (this.#status === "running") {
      await this.#report();
      await this.#exit();
      return this.waitDone;
    }
    if (this.#alloc.DesiredStatus !== "run" || this.#status !== "pending") {
      await this.end("complete", false);
      return;
    }
    this.#set("running", { State: "running", StartedAt: this.#now() });
    if (this.#behaviour.healthy !== undefined)
      this.#health = { Healthy: this.#behaviour.healthy, Timestamp: this.#now(), Canary: false, ModifyIndex: 0 };
    await this.#report();
    await this.#exit();
    return this.waitDone;
  }

  async #exit(): Promise<void> {
    const { exitCode } = this.#behaviour;
    if (exitCode !== undefined) await this.end(exitCode === 0 ? "complete" : "failed", exitCode !== 0);
  }

  /** Ends all tasks. */
  async end(status: "complete" | "failed", failed: boolean): Promise<void> {
    if (this.#wait.isSet) return;
    this.#set(status, { State: "dead", Failed: failed, FinishedAt: this.#now() });
    await this.#report();
    this.#wait.set();
  }

  #set(status: string, change: Partial<TaskState>): void {
    this.#status = status;
    for (const [name, state] of Object.entries(this.#states)) this.#states[name] = { ...state, ...change };
  }

  async #report(): Promise<void> {
    const prefix = `allocations/${this.#alloc.ID}/`;
    const put = Object.fromEntries(
      Object.entries(this.#states).map(([name, state]) => [`${prefix}task-${name}/task_state`, state]),
    );
    await this.#config.state.write({ put });
    const { clientStatus, clientDescription, taskStates, deploymentStatus, networkStatus } = this.allocState();
    const update: AllocUpdate = {
      ID: this.#alloc.ID,
      NodeID: this.#alloc.NodeID,
      ClientStatus: clientStatus,
      ClientDescription: clientDescription,
      TaskStates: taskStates,
      DeploymentStatus: deploymentStatus,
      NetworkStatus: networkStatus,
    };
    this.#config.stateUpdater.allocStateUpdated(structuredClone(update));
    this.#broadcast.send(update);
  }

  async restore(): Promise<void> {
    if (this.#behaviour.failRestore !== undefined) throw new Error(this.#behaviour.failRestore);
    for (const task of this.#tasks()) {
      const state = this.#config.state.get<TaskState>(`allocations/${this.#alloc.ID}/task-${task}/task_state`);
      if (state !== undefined) this.#states[task] = state;
    }
    const states = Object.values(this.#states);
    this.#status = states.some((s) => s.State === "running")
      ? "running"
      : states.some((s) => s.Failed)
        ? "failed"
        : states.every((s) => s.State === "dead")
          ? "complete"
          : "pending";
  }

  update(alloc: Allocation): void {
    this.#alloc = alloc;
    this.calls.push(`update ${alloc.DesiredStatus}`);
    if (alloc.DesiredStatus !== "run") void this.end("complete", false);
  }
  async reconnect(alloc: Allocation): Promise<void> {
    this.#alloc = alloc;
    this.calls.push("reconnect");
  }
  shutdown(): void {
    this.calls.push("shutdown");
    this.#shutdown.set();
  }
  destroy(): void {
    this.calls.push("destroy");
    void (async () => {
      await this.end("complete", false);
      await this.#config.state.write({ deletePrefix: [`allocations/${this.#alloc.ID}/`] });
      this.#destroyed = true;
      this.#destroy.set();
      this.#shutdown.set();
    })();
  }
  isDestroyed(): boolean {
    return this.#destroyed;
  }
  isMigrating(): boolean {
    return false;
  }
  isWaiting(): boolean {
    return this.#config.prevAllocs?.isWaiting() ?? false;
  }
  allocState(): ReturnType<AllocRunner["allocState"]> {
    const clientStatus = this.#forced ?? this.#status;
    const text =
      { running: "Tasks are running", complete: "All tasks have completed", failed: "Failed tasks" }[clientStatus] ??
      "No tasks have started";
    return {
      clientStatus,
      clientDescription: text,
      deploymentStatus: this.#health,
      taskStates: structuredClone(this.#states),
      networkStatus: null,
    };
  }
  async persistState(): Promise<void> {
    this.calls.push("persist");
  }
  acknowledgeState(state: AckState): void {
    this.#ack = state;
  }
  getUpdatePriority(update: AllocUpdate): ReturnType<AllocRunner["getUpdatePriority"]> {
    return updatePriority(update, this.#ack);
  }
  setClientStatus(status: string): void {
    this.#forced = status;
  }
  async signal(task: string, signal: string): Promise<void> {
    if (task !== "" && this.#states[task] === undefined) throw new Error("Task not found");
    this.calls.push(`signal ${task} ${signal}`);
  }
  async restartTask(task: string): Promise<void> {
    if (this.#states[task] === undefined) throw new Error(`Could not find task runner for task: ${task}`);
    this.calls.push(`restart ${task}`);
  }
  async restartRunning(): Promise<void> {
    this.calls.push("restart running");
  }
  async restartAll(): Promise<void> {
    this.calls.push("restart all");
  }
  taskEventHandler(): undefined {
    return undefined;
  }
  taskExecHandler(): undefined {
    return undefined;
  }
  async taskDriverCapabilities(): Promise<never> {
    throw new Error("task not found");
  }
  statsReporter(): ReturnType<AllocRunner["statsReporter"]> {
    const usage = make(ResourceUsageStruct, {
      MemoryStats: { RSS: 1000, Measured: ["RSS"] },
      CpuStats: { Percent: 1 },
    });
    return {
      latestAllocStats: () =>
        make(AllocResourceUsageStruct, {
          ResourceUsage: usage,
          Tasks: Object.fromEntries(
            Object.keys(this.#states).map((t) => [t, { ResourceUsage: usage, Timestamp: 1, Pids: {} }]),
          ),
          Timestamp: 1,
        }),
    };
  }
  listener(): ReturnType<AllocRunner["listener"]> {
    return this.#broadcast.listen();
  }
  getAllocDir(): AllocDir {
    return (this.#behaviour.files ?? {}) as AllocDir;
  }
  async setTaskPauseState(task: string, state: PauseState): Promise<void> {
    this.#pause.set(task, state === "schedule_resume" ? "" : state);
  }
  getTaskPauseState(task: string): PauseState {
    return this.#pause.get(task) ?? "";
  }
}

/** Makes runners and remembers them. */
export class FakeRunners {
  readonly all = new Map<string, FakeRunner>();
  behaviour: (alloc: Allocation) => FakeBehaviour = () => ({});

  readonly build = (config: AllocRunnerConfig<AllocDir>): FakeRunner => {
    const behaviour = this.behaviour(config.alloc);
    if (behaviour.failBuild !== undefined) throw new Error(behaviour.failBuild);
    const runner = new FakeRunner(config, behaviour);
    this.all.set(config.alloc.ID, runner);
    return runner;
  };
}
