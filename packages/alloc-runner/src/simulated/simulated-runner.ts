import { OutriderError } from "@outrider/foundation";
import {
  isServerTerminal,
  timeText,
  type AllocResourceUsage,
  type Allocation,
  type DriverCapabilities,
  type Task,
  type TaskPauseState,
} from "@outrider/nomad-structs";
import type { AllocRunnerConfig, AllocRunnerFactory } from "../alloc-runner-config.ts";
import type { AllocRunner, AllocStatsReporter } from "../alloc-runner.ts";
import type { AckState, AllocState, AllocUpdate } from "../alloc-state.ts";
import { createBroadcaster, type BroadcastListener } from "../broadcaster.ts";
import { createLatch } from "../latch.ts";
import { isPauseRequest, type PauseRequest } from "../pause-state.ts";
import type { DriverEventHandler } from "../task-access.ts";
import type { TaskEventInput } from "../task-event-input.ts";
import { updatePriority, type UpdatePriority } from "../update-priority.ts";
import type { SimulatedRunnerOptions } from "./simulated-options.ts";
import { SimulatedTask } from "./simulated-task.ts";

/**
 * A factory of runners that go through an allocation's life without doing any of it: for simulators and tests. They end when they are told to,
 * report deep copies, measure priority like a real runner, and their signals are given once and when it is time.
 * @public
 */
export function simulatedRunnerFactory(options: SimulatedRunnerOptions = {}): AllocRunnerFactory {
  return (config) => new SimulatedRunner(config, options);
}

class SimulatedRunner implements AllocRunner<undefined> {
  readonly #config: AllocRunnerConfig;
  readonly #tasks: ReadonlyArray<{ readonly task: Task; readonly sim: SimulatedTask }>;
  readonly #broadcaster = createBroadcaster<AllocUpdate>();
  readonly #wait = createLatch();
  readonly #destroyed = createLatch();
  readonly #shut = createLatch();
  readonly #release = new AbortController();
  #alloc: Allocation;
  #ack: AckState | undefined;
  #forced: string | undefined;
  #deployment: Allocation["DeploymentStatus"];
  #stopping: Promise<void> | undefined;
  #ran = false;
  #destroying = false;
  #reporting = false;
  /** Wakes the run loop. */
  #onEnd: () => void = () => undefined;

  constructor(config: AllocRunnerConfig, options: SimulatedRunnerOptions) {
    this.#config = config;
    this.#alloc = config.alloc;
    this.#deployment = config.alloc.DeploymentStatus;
    const group = config.alloc.Job?.TaskGroups?.find((g) => g.Name === config.alloc.TaskGroup);
    if (group === undefined) {
      const text = `failed to lookup task group ${JSON.stringify(config.alloc.TaskGroup)}`;
      throw new OutriderError("ERR_OUTRIDER_ALLOC_INVALID", text);
    }
    this.#tasks = (group.Tasks ?? []).map((task) => {
      const known = config.alloc.TaskStates?.[task.Name];
      return { task, sim: new SimulatedTask(task, known, config.clock, options, () => this.#changed()) };
    });
  }

  get waitDone(): Promise<void> {
    return this.#wait.promise;
  }

  get destroyDone(): Promise<void> {
    return this.#destroyed.promise;
  }

  get shutdownDone(): Promise<void> {
    return this.#shut.promise;
  }

  alloc(): Allocation {
    return this.#alloc;
  }

  async run(): Promise<void> {
    this.#ran = true;
    if (isServerTerminal(this.#alloc.DesiredStatus)) await this.#stop();
    else {
      await Promise.all(this.#tasks.map(({ task, sim }) => sim.run(this.#alloc, task, this.#release.signal)));
      // A task without an end of its own leaves the line above at once: the allocation lives until all are dead.
      while (!this.#release.signal.aborted && !this.#tasks.every(({ sim }) => sim.isDead)) {
        await this.#stopped();
      }
    }
    this.#wait.set();
  }

  #stopped(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEnd = resolve;
    });
  }

  async restore(): Promise<void> {
    // What there is to know came with the allocation.
  }

  update(alloc: Allocation): void {
    if (this.#wait.isSet || alloc.AllocModifyIndex < this.#alloc.AllocModifyIndex) return;
    const wasTerminal = isServerTerminal(this.#alloc.DesiredStatus);
    this.#alloc = alloc;
    if (isServerTerminal(alloc.DesiredStatus) && !wasTerminal) void this.#stop();
  }

  async reconnect(alloc: Allocation): Promise<void> {
    const { AllocModifyIndex, ModifyIndex, ModifyTime } = alloc;
    this.#alloc = { ...this.#alloc, AllocModifyIndex, ModifyIndex, ModifyTime };
    for (const { sim } of this.#tasks) sim.append({ type: "Reconnected" });
    this.#report();
  }

  shutdown(): void {
    if (this.#destroying || this.#release.signal.aborted) return;
    this.#release.abort();
    this.#onEnd();
    const over = this.#ran ? this.waitDone : Promise.resolve();
    void over.then(() => this.#shut.set());
  }

  destroy(): void {
    if (this.#destroying) return;
    this.#destroying = true;
    void this.#destroy();
  }

  async #destroy(): Promise<void> {
    if (!this.#release.signal.aborted) {
      await this.#stop();
      if (this.#ran) await this.waitDone;
    }
    this.#wait.set();
    this.#broadcaster.close();
    this.#destroyed.set();
    this.#shut.set();
  }

  #stop(): Promise<void> {
    this.#stopping ??= Promise.all(this.#tasks.map(({ sim }) => sim.stop(this.#release.signal))).then(() =>
      this.#onEnd(),
    );
    return this.#stopping;
  }

  isDestroyed(): boolean {
    return this.#destroyed.isSet;
  }

  isMigrating(): boolean {
    return false;
  }

  isWaiting(): boolean {
    return false;
  }

  allocState(): AllocState {
    const { ClientStatus, ClientDescription, DeploymentStatus, TaskStates, NetworkStatus } = this.#makeReport();
    return {
      clientStatus: ClientStatus,
      clientDescription: ClientDescription,
      deploymentStatus: DeploymentStatus,
      taskStates: TaskStates ?? {},
      networkStatus: NetworkStatus,
    };
  }

  async persistState(): Promise<void> {
    // Nothing outlives a simulation.
  }

  acknowledgeState(state: AckState): void {
    this.#ack = structuredClone(state);
  }

  getUpdatePriority(update: AllocUpdate): UpdatePriority {
    return updatePriority(update, this.#ack);
  }

  setClientStatus(status: string): void {
    this.#forced = status;
    this.#report();
  }

  async signal(task: string, signal: string): Promise<void> {
    if (task === "") return this.#tasks.forEach(({ sim }) => sim.signal(signal));
    this.#find(task, "Task not found").signal(signal);
  }

  async restartTask(task: string, event: TaskEventInput): Promise<void> {
    this.#find(task, `Could not find task runner for task: ${task}`).restart(event);
  }

  async restartRunning(event: TaskEventInput): Promise<void> {
    for (const { sim } of this.#tasks) if (sim.state.State === "running") sim.restart(event);
  }

  async restartAll(event: TaskEventInput): Promise<void> {
    await this.restartRunning(event);
  }

  taskEventHandler(task: string): DriverEventHandler | undefined {
    const sim = this.#tasks.find((t) => t.sim.name === task)?.sim;
    if (sim === undefined) return undefined;
    return ({ message, annotations }) => sim.append({ type: "Driver", facts: { message, annotations } });
  }

  taskExecHandler(): undefined {
    return undefined;
  }

  async taskDriverCapabilities(task: string): Promise<DriverCapabilities> {
    this.#find(task, "task not found");
    return {
      sendSignals: true,
      exec: false,
      fsIsolation: "none",
      networkIsolationModes: ["host"],
      mustCreateNetwork: false,
      mountConfigs: "none",
      disableLogCollection: true,
      dynamicWorkloadUsers: false,
    };
  }

  statsReporter(): AllocStatsReporter {
    return { latestAllocStats: () => noUsage() };
  }

  listener(): BroadcastListener<AllocUpdate> {
    return this.#broadcaster.listen();
  }

  getAllocDir(): undefined {
    return undefined;
  }

  async setTaskPauseState(task: string, state: PauseRequest): Promise<void> {
    if (!isPauseRequest(state)) {
      throw new OutriderError("ERR_OUTRIDER_TASK_PAUSE_STATE", "not a valid task schedule state");
    }
    if (task === "") return this.#tasks.forEach(({ sim }) => sim.pause(state));
    this.#find(task, `Could not find task runner for task: ${task}`).pause(state);
  }

  getTaskPauseState(task: string): TaskPauseState {
    const sim = task === "" ? this.#tasks[0]?.sim : this.#find(task, `Could not find task runner for task: ${task}`);
    return (sim?.state.Paused ?? "") as TaskPauseState;
  }

  #find(task: string, text: string): SimulatedTask {
    const found = this.#tasks.find((t) => t.sim.name === task)?.sim;
    if (found === undefined) throw new OutriderError("ERR_OUTRIDER_ALLOC_UNKNOWN_TASK", text, { details: { task } });
    return found;
  }

  /** Many changes of one turn are one report. */
  #changed(): void {
    if (this.#reporting) return;
    this.#reporting = true;
    queueMicrotask(() => {
      this.#reporting = false;
      this.#judge();
      this.#report();
      if (this.#tasks.every(({ sim }) => sim.isDead)) this.#onEnd();
    });
  }

  #judge(): void {
    if (this.#alloc.DeploymentID === "" || (this.#deployment !== null && this.#deployment.Healthy !== null)) return;
    const running = this.#tasks.every(({ sim }) => sim.state.State === "running");
    const failed = this.#tasks.some(({ sim }) => sim.state.Failed);
    if (!running && !failed) return;
    const { Canary = false, ModifyIndex = 0 } = this.#deployment ?? {};
    this.#deployment = { Healthy: running, Timestamp: timeText(this.#config.clock.now()), Canary, ModifyIndex };
  }

  #report(): void {
    if (this.isDestroyed()) return;
    this.#config.stateUpdater.allocStateUpdated(this.#makeReport());
    this.#broadcaster.send(this.#makeReport());
  }

  #makeReport(): AllocUpdate {
    const [status, description] = this.#status();
    return structuredClone({
      ID: this.#alloc.ID,
      NodeID: this.#alloc.NodeID,
      ClientStatus: status,
      ClientDescription: description,
      DeploymentStatus: this.#deployment,
      TaskStates: Object.fromEntries(this.#tasks.map(({ sim }) => [sim.name, sim.state])),
      NetworkStatus: null,
    });
  }

  #status(): readonly [string, string] {
    if (this.#forced !== undefined) return [this.#forced, ""];
    const states = this.#tasks.map(({ sim }) => sim.state);
    if (states.some((s) => s.State === "dead" && s.Failed)) return ["failed", "Failed tasks"];
    if (states.some((s) => s.State === "running")) return ["running", "Tasks are running"];
    if (states.some((s) => s.State === "pending")) return ["pending", "No tasks have started"];
    return states.length > 0 ? ["complete", "All tasks have completed"] : ["", ""];
  }
}

function noUsage(): AllocResourceUsage {
  return { ResourceUsage: null, Tasks: {}, Timestamp: 0 };
}
