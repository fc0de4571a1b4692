import {
  createBroadcaster,
  createLatch,
  isPauseRequest,
  updatePriority,
  type AckState,
  type AllocRunner,
  type AllocState,
  type AllocStatsReporter,
  type AllocUpdate,
  type BroadcastListener,
  type DriverEventHandler,
  type PauseRequest,
  type TaskEventInput,
  type TaskExecHandler,
  type UpdatePriority,
} from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";
import { OutriderError, type Logger } from "@outrider/foundation";
import {
  isClientTerminal,
  isServerTerminal,
  TASK_EVENT,
  timeText,
  type Allocation,
  type AllocNetworkStatus,
  type DriverCapabilities,
  type TaskPauseState,
  type TaskResourceUsage,
} from "@outrider/nomad-structs";
import type { ClientAllocRunnerConfig } from "../task/ports.ts";
import { messageOf } from "../task/task-hook-failure.ts";
import { execHandler } from "../task/task-life.ts";
import type { TaskRunner } from "../task/task-runner.ts";
import type { AllocHookRunner } from "./alloc-hook-runner.ts";
import { allocReport } from "./alloc-report.ts";
import { sumUsage } from "./alloc-stats.ts";
import { endReason, isBeforePoststop, isDead, killInOrder, reasonEvent } from "./alloc-tasks.ts";
import { clientStatusOf, type ClientStatus } from "./client-status.ts";
import type { Coordinator } from "./coordinator.ts";
import { allocKeys } from "./state-keys.ts";

/** A task with what the allocation needs beside its runner. */
export interface RunnerTask {
  readonly runner: TaskRunner;
  readonly latestStats: () => TaskResourceUsage | undefined;
}

export interface AllocRunnerParts {
  readonly config: ClientAllocRunnerConfig;
  readonly logger: Logger;
  readonly allocDir: AllocDir;
  readonly coordinator: Coordinator;
  readonly skipShutdownDelay: AbortController;
}

/** The client's runner of one allocation: real tasks, by their drivers. */
export class ClientAllocRunner implements AllocRunner<AllocDir> {
  readonly #c: ClientAllocRunnerConfig;
  readonly #parts: AllocRunnerParts;
  readonly #keys: ReturnType<typeof allocKeys>;
  readonly #broadcaster = createBroadcaster<AllocUpdate>();
  readonly #waitLatch = createLatch();
  readonly #destroyLatch = createLatch();
  readonly #shutdownLatch = createLatch();
  readonly #ending = new AbortController();
  #tasks: readonly RunnerTask[] = [];
  #hooks!: AllocHookRunner;
  #alloc: Allocation;
  #ack: AckState | undefined;
  #forced: ClientStatus | undefined;
  #maxRunExceeded = false;
  #deployment: Allocation["DeploymentStatus"];
  #network: AllocNetworkStatus | null = null;
  #restored = false;
  #runStarted = false;
  #destroying = false;
  #shuttingDown = false;
  #killing: Promise<void> | undefined;
  #preKilled: Promise<void> | undefined;
  #leaderAnnounced = false;
  #passing = false;
  #reporting = false;
  #pendingUpdate: Allocation | undefined;
  #updating = false;

  constructor(parts: AllocRunnerParts) {
    this.#parts = parts;
    this.#c = parts.config;
    this.#alloc = parts.config.alloc;
    this.#keys = allocKeys(this.#alloc.ID);
    this.#deployment = this.#alloc.DeploymentStatus;
  }

  /** Second half of the construction: tasks and hooks refer to the runner. */
  attach(tasks: readonly RunnerTask[], hooks: AllocHookRunner): void {
    this.#tasks = tasks;
    this.#hooks = hooks;
  }

  get #runners(): readonly TaskRunner[] {
    return this.#tasks.map((t) => t.runner);
  }

  get waitDone(): Promise<void> {
    return this.#waitLatch.promise;
  }

  get destroyDone(): Promise<void> {
    return this.#destroyLatch.promise;
  }

  get shutdownDone(): Promise<void> {
    return this.#shutdownLatch.promise;
  }

  alloc(): Allocation {
    return this.#alloc;
  }

  deployment(): Allocation["DeploymentStatus"] {
    return this.#deployment;
  }

  networkStatus(): AllocNetworkStatus | null {
    return this.#network;
  }

  isDestroyed(): boolean {
    return this.#destroyLatch.isSet;
  }

  isMigrating(): boolean {
    return this.#c.prevAllocs?.isMigrating?.() ?? false;
  }

  isWaiting(): boolean {
    return this.#c.prevAllocs?.isWaiting() ?? false;
  }

  getAllocDir(): AllocDir {
    return this.#parts.allocDir;
  }

  listener(): BroadcastListener<AllocUpdate> {
    return this.#broadcaster.listen();
  }

  async run(): Promise<void> {
    this.#runStarted = true;
    try {
      if (!this.#shuttingDown) await this.#runTasks();
    } catch (err) {
      this.#parts.logger.error({ err }, "alloc runner failed");
    }
    this.#waitLatch.set();
    this.#report();
  }

  async #runTasks(): Promise<void> {
    if (!this.#restored) {
      for (const { record } of this.#runners) record.append({ type: TASK_EVENT.received });
    }
    this.onTaskChange();
    if (this.#shouldRun()) await this.#prerun();
    await Promise.all(this.#runners.map((runner) => runner.run()));
    if (this.#shuttingDown) return;
    await this.#hooks.postrun();
  }

  async #prerun(): Promise<void> {
    try {
      await this.#hooks.prerun(this.#ending.signal);
    } catch (cause) {
      if (this.#ending.signal.aborted) return;
      // The runners still run, so that a restored task is really stopped (hashicorp/nomad#17102).
      const error = `failed to setup alloc: ${messageOf(cause)}`;
      const event: TaskEventInput = {
        type: TASK_EVENT.setupFailure,
        facts: { error, reason: TASK_EVENT.failedRestoring, failsTask: true },
      };
      for (const runner of this.#runners) void runner.kill(event);
    }
  }

  #shouldRun(): boolean {
    if (isServerTerminal(this.#alloc.DesiredStatus) || isClientTerminal(this.#alloc.ClientStatus)) return false;
    return !isClientTerminal(this.#status().status);
  }

  async restore(): Promise<void> {
    const { state } = this.#c;
    try {
      await this.#parts.allocDir.stat("/");
    } catch (cause) {
      throw new OutriderError("ERR_OUTRIDER_ALLOC_RESTORE", "allocation directory is inaccessible", { cause });
    }
    this.#restored = true;
    this.#deployment = state.get<NonNullable<Allocation["DeploymentStatus"]>>(this.#keys.deployStatus) ?? this.#deployment;
    this.setNetworkStatus(state.get<AllocNetworkStatus>(this.#keys.networkStatus) ?? null);
    for (const runner of this.#runners) runner.restore();
    this.#parts.coordinator.restore(this.#liveStates());
  }

  setNetworkStatus(status: AllocNetworkStatus | null): void {
    this.#network = status;
    for (const runner of this.#runners) runner.context.env.setNetworkStatus(status);
  }

  update(alloc: Allocation): void {
    if (this.#waitLatch.isSet) return;
    if (alloc.DesiredTransition.NoShutdownDelay === true) this.#parts.skipShutdownDelay.abort();
    const queued = this.#pendingUpdate;
    if (queued !== undefined && queued.AllocModifyIndex > alloc.AllocModifyIndex) return;
    this.#pendingUpdate = alloc;
    if (this.#updating) return;
    this.#updating = true;
    queueMicrotask(() => void this.#applyUpdates());
  }

  async #applyUpdates(): Promise<void> {
    for (;;) {
      const alloc = this.#pendingUpdate;
      if (alloc === undefined || this.#waitLatch.isSet) break;
      this.#pendingUpdate = undefined;
      const wasTerminal = isServerTerminal(this.#alloc.DesiredStatus);
      this.#alloc = alloc;
      for (const runner of this.#runners) runner.update(alloc);
      if (isServerTerminal(alloc.DesiredStatus)) {
        if (!wasTerminal) void this.#killTasks();
      } else {
        await this.#hooks.update(alloc);
      }
    }
    this.#updating = false;
  }

  async reconnect(alloc: Allocation): Promise<void> {
    const { AllocModifyIndex, ModifyIndex, ModifyTime } = alloc;
    this.#alloc = { ...this.#alloc, AllocModifyIndex, ModifyIndex, ModifyTime };
    for (const { record } of this.#runners) record.append({ type: TASK_EVENT.reconnected });
    await this.#c.state.write({ put: { [this.#keys.alloc]: this.#alloc } });
    await Promise.all(this.#runners.map((runner) => runner.record.flush()));
    this.#report();
  }

  shutdown(): void {
    if (this.#destroying || this.#shuttingDown) return;
    this.#shuttingDown = true;
    this.#ending.abort(new DOMException("the agent is shutting down", "AbortError"));
    for (const runner of this.#runners) runner.shutdown();
    const over = async (): Promise<void> => {
      await this.#hooks.shutdown();
      if (this.#runStarted) await this.waitDone;
      await Promise.all(this.#runners.map((runner) => runner.record.flush()));
      this.#waitLatch.set();
      this.#shutdownLatch.set();
    };
    void over();
  }

  destroy(): void {
    if (this.#destroying) return;
    this.#destroying = true;
    void this.#destroy();
  }

  async #destroy(): Promise<void> {
    if (this.#shuttingDown) await this.shutdownDone;
    else if (this.#runStarted) {
      await this.#killTasks();
      await this.waitDone;
    } else {
      await this.#stopRestored();
    }
    // Let go by a shutdown, tasks may live: then their state must stay.
    if (this.#runners.every(isDead)) {
      await this.#hooks.destroy();
      await Promise.all(this.#runners.map((runner) => runner.record.close()));
      await this.#deleteState();
    }
    this.#waitLatch.set();
    this.#report();
    this.#broadcaster.close();
    this.#destroyLatch.set();
    this.#shutdownLatch.set();
  }

  /** A runner whose restore failed was never run: what it did find is stopped all the same. */
  async #stopRestored(): Promise<void> {
    await Promise.all(
      this.#runners.map(async (runner) => {
        const ended = runner.run();
        void runner.kill();
        await ended;
      }),
    );
  }

  async #deleteState(): Promise<void> {
    try {
      await this.#c.state.write({ deletePrefix: [this.#keys.prefix] });
    } catch (err) {
      this.#parts.logger.error({ err }, "state of a destroyed allocation cannot be deleted");
    }
  }

  allocState(): AllocState {
    const report = this.#makeReport();
    return {
      clientStatus: report.ClientStatus,
      clientDescription: report.ClientDescription,
      deploymentStatus: report.DeploymentStatus,
      taskStates: report.TaskStates ?? {},
      networkStatus: report.NetworkStatus,
    };
  }

  async persistState(): Promise<void> {
    if (this.isDestroyed()) return this.#deleteState();
    if (this.#destroying) return;
    await this.#c.state.write({ put: { [this.#keys.alloc]: this.#alloc } });
    await Promise.all(this.#runners.map((runner) => runner.record.save()));
  }

  acknowledgeState(state: AckState): void {
    this.#ack = structuredClone(state);
  }

  getUpdatePriority(update: AllocUpdate): UpdatePriority {
    return updatePriority(update, this.#ack);
  }

  setClientStatus(status: string): void {
    this.#forced = { status, description: status === "failed" ? "Failed tasks" : "" };
    this.#report();
  }

  async signal(task: string, signal: string): Promise<void> {
    if (task !== "") {
      const runner = this.#runners.find((r) => r.name === task);
      if (runner === undefined) throw new OutriderError("ERR_OUTRIDER_ALLOC_UNKNOWN_TASK", "Task not found");
      return runner.signal(signal);
    }
    await all(this.#runners.map((runner) => runner.signal(signal)));
  }

  async restartTask(task: string, event: TaskEventInput): Promise<void> {
    await this.#find(task).restart(event);
  }

  async restartRunning(event: TaskEventInput): Promise<void> {
    this.#assertRestartable();
    await this.#hooks.preTaskRestart();
    const running = this.#runners.filter((r) => r.record.phase === "running");
    await all(running.map((runner) => runner.restart(event).catch(ignoreNotRunning)));
  }

  async restartAll(event: TaskEventInput): Promise<void> {
    this.#assertRestartable();
    await this.#hooks.preTaskRestart();
    this.#parts.coordinator.restart();
    await all(this.#runners.map((runner) => runner.forceRestart(event).catch(ignoreNotRunning)));
    this.onTaskChange();
  }

  #assertRestartable(): void {
    if (this.#shouldRun()) return;
    throw new OutriderError("ERR_OUTRIDER_ALLOC_TERMINAL", "restart of an alloc that should not run");
  }

  taskEventHandler(task: string): DriverEventHandler | undefined {
    const record = this.#runners.find((r) => r.name === task)?.record;
    if (record === undefined) return undefined;
    return ({ message, annotations }) => record.append({ type: TASK_EVENT.driver, facts: { message, annotations } });
  }

  taskExecHandler(task: string): TaskExecHandler | undefined {
    const live = this.#runners.find((r) => r.name === task)?.context.live;
    return live === undefined || live.result !== undefined ? undefined : execHandler(live);
  }

  async taskDriverCapabilities(task: string): Promise<DriverCapabilities> {
    const runner = this.#runners.find((r) => r.name === task);
    if (runner === undefined) throw new OutriderError("ERR_OUTRIDER_ALLOC_UNKNOWN_TASK", "task not found");
    return runner.context.capabilities;
  }

  statsReporter(): AllocStatsReporter {
    return {
      latestAllocStats: (task = "") => {
        const chosen = this.#tasks.filter((t) => task === "" || t.runner.name === task);
        const samples = chosen.flatMap(({ runner, latestStats }) => {
          const usage = latestStats();
          if (usage === undefined) return [];
          return [{ task: runner.name, running: runner.record.phase === "running", usage }];
        });
        return sumUsage(samples);
      },
    };
  }

  async setTaskPauseState(task: string, state: PauseRequest): Promise<void> {
    if (!isPauseRequest(state)) {
      throw new OutriderError("ERR_OUTRIDER_TASK_PAUSE_STATE", "not a valid task schedule state", { details: { state } });
    }
    if (task !== "") return this.#find(task).setPause(state);
    for (const runner of this.#mains()) runner.setPause(state);
  }

  getTaskPauseState(task: string): TaskPauseState {
    if (task !== "") return this.#find(task).context.pause.state;
    const states = this.#mains().map((r) => ({ name: r.name, state: r.context.pause.state }));
    const first = states[0]?.state ?? "";
    if (states.every((s) => s.state === first)) return first;
    const list = states.map((s) => `${s.name}: ${JSON.stringify(s.state)}`).join(", ");
    throw new OutriderError("ERR_OUTRIDER_TASK_PAUSE_DIFFERS", `tasks differ in their pause state, name one: ${list}`);
  }

  #mains(): readonly TaskRunner[] {
    return this.#runners.filter((runner) => runner.lifecycle === undefined);
  }

  #find(task: string): TaskRunner {
    const runner = this.#runners.find((r) => r.name === task);
    if (runner !== undefined) return runner;
    throw new OutriderError("ERR_OUTRIDER_ALLOC_UNKNOWN_TASK", `Could not find task runner for task: ${task}`);
  }

  // --- what tasks and hooks report -------------------------------------------------------------------------------------------------

  /** A live task state changed: works out what follows, soon and once for many changes. */
  onTaskChange(): void {
    if (this.#passing) return;
    this.#passing = true;
    queueMicrotask(() => {
      this.#passing = false;
      this.#pass();
    });
  }

  /** A newer task state is durable: tells the server, soon and once for many changes. */
  onTaskDurable(): void {
    if (this.#reporting) return;
    this.#reporting = true;
    queueMicrotask(() => {
      this.#reporting = false;
      this.#report();
    });
  }

  onMaxRunExceeded(): void {
    if (this.#killing !== undefined || this.#waitLatch.isSet) return;
    this.#maxRunExceeded = true;
    void this.#killTasks();
  }

  async setHealth(healthy: boolean | null, events: ReadonlyMap<string, TaskEventInput>): Promise<void> {
    if (this.#destroying) return;
    const before = this.#deployment;
    this.#deployment = {
      Healthy: healthy,
      Timestamp: healthy === null ? null : timeText(this.#c.clock.now()),
      Canary: before?.Canary ?? false,
      ModifyIndex: before?.ModifyIndex ?? 0,
    };
    await this.#c.state.write({ put: { [this.#keys.deployStatus]: this.#deployment } });
    for (const [task, event] of events) this.#find(task).record.append(event);
    this.#report();
  }

  #pass(): void {
    if (this.#shuttingDown) return;
    const group = this.#runners.filter(isBeforePoststop);
    const reason = endReason(this.#runners);
    if (reason !== undefined && this.#killing === undefined) {
      if (reason.kind === "leader") this.#leaderAnnounced = true;
      for (const runner of group) if (!isDead(runner)) runner.record.append(reasonEvent(reason));
      void this.#killTasks();
    }
    if (this.#runStarted && group.every(isDead)) void this.#endGroup(group);
    this.#parts.coordinator.update(this.#liveStates());
  }

  /** All but poststop tasks are dead: those that could still be revived are let go, so that the run loop can end. */
  async #endGroup(group: readonly TaskRunner[]): Promise<void> {
    await this.#preKill();
    for (const runner of group) if (isDead(runner)) void runner.kill();
  }

  #preKill(): Promise<void> {
    this.#preKilled ??= this.#hooks.preKill();
    return this.#preKilled;
  }

  #killTasks(): Promise<void> {
    this.#killing ??= this.#kill();
    return this.#killing;
  }

  async #kill(): Promise<void> {
    this.#ending.abort(new DOMException("the allocation is being stopped", "AbortError"));
    await this.#preKill();
    await killInOrder({
      runners: this.#runners,
      maxRunExceeded: this.#maxRunExceeded,
      onLeaderDead: () => {
        if (this.#leaderAnnounced) return;
        this.#leaderAnnounced = true;
        for (const runner of this.#runners.filter(isBeforePoststop)) {
          if (!isDead(runner)) runner.record.append(reasonEvent({ kind: "leader" }));
        }
      },
    });
  }

  #liveStates(): Map<string, TaskRunner["record"]["state"]> {
    return new Map(this.#runners.map((runner) => [runner.name, runner.record.state]));
  }

  #status(): ClientStatus {
    const states = this.#runners.map((runner) => runner.record.durable);
    return clientStatusOf(states, { forced: this.#forced, maxRunExceeded: this.#maxRunExceeded });
  }

  #makeReport(): AllocUpdate {
    return allocReport({
      alloc: this.#alloc,
      states: Object.fromEntries(this.#runners.map((runner) => [runner.name, runner.record.durable])),
      status: this.#status(),
      deployment: this.#deployment,
      network: this.#network,
      nowMs: this.#c.clock.now(),
    });
  }

  #report(): void {
    if (this.isDestroyed()) return;
    const report = this.#makeReport();
    this.#c.stateUpdater.allocStateUpdated(report);
    this.#broadcaster.send(structuredClone(report));
  }
}

/** Waits for all, then rejects with the first failure. */
async function all(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((r) => r.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

function ignoreNotRunning(error: unknown): void {
  if ((error as { code?: unknown } | null)?.code !== "ERR_OUTRIDER_TASK_NOT_RUNNING") throw error;
}
