import {
  createLatch,
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
import { sleep } from "@outrider/backoff";
import { OutriderError, type Logger } from "@outrider/foundation";
import {
  isClientTerminal,
  isServerTerminal,
  TASK_EVENT,
  type Allocation,
  type AllocNetworkStatus,
  type DriverCapabilities,
  type TaskPauseState,
} from "@outrider/nomad-structs";
import type { ClientAllocRunnerConfig } from "../task/ports.ts";
import { messageOf } from "../task/task-hook-failure.ts";
import type { TaskRunner } from "../task/task-runner.ts";
import type { AllocChecks, CheckResult } from "./checks/alloc-checks.ts";
import type { AllocHookRunner } from "./alloc-hook-runner.ts";
import { AllocEnding } from "./alloc-ending.ts";
import { AllocReporter } from "./alloc-reporter.ts";
import { AllocRequests, type RunnerTask } from "./alloc-requests.ts";
import { isBeforePoststop, isDead, isPending, neverStarted } from "./alloc-tasks.ts";
import { stageOf, type Coordinator } from "./coordinator.ts";
import { NewestUpdate } from "./newest-update.ts";
import type { StartTurn } from "./start-turns.ts";
import { allocKeys } from "./state-keys.ts";

/** How long the exit of the agent waits for a disk that takes no writes. */
const LAST_WRITES_MS = 2_000;

export interface AllocRunnerParts {
  readonly config: ClientAllocRunnerConfig;
  readonly logger: Logger;
  readonly allocDir: AllocDir;
  readonly coordinator: Coordinator;
  readonly checks: AllocChecks;
  readonly skipShutdownDelay: AbortController;
}

/** The client's runner of one allocation: real tasks, by their drivers. */
export class ClientAllocRunner implements AllocRunner<AllocDir> {
  readonly #c: ClientAllocRunnerConfig;
  readonly #parts: AllocRunnerParts;
  readonly #reporter: AllocReporter;
  readonly #waitLatch = createLatch();
  readonly #destroyLatch = createLatch();
  readonly #shutdownLatch = createLatch();
  readonly #ending: AllocEnding;
  readonly #updates: NewestUpdate;
  #runners: readonly TaskRunner[] = [];
  #requests = new AllocRequests([]);
  #hooks!: AllocHookRunner;
  #alloc: Allocation;
  #restored = false;
  #runStarted = false;
  #destroying = false;
  #shuttingDown = false;
  #passing = false;
  #turn: StartTurn | undefined;

  constructor(parts: AllocRunnerParts) {
    this.#parts = parts;
    this.#c = parts.config;
    this.#alloc = parts.config.alloc;
    this.#reporter = new AllocReporter({
      config: parts.config,
      alloc: () => this.#alloc,
      runners: () => this.#runners,
    });
    this.#ending = new AllocEnding({
      runners: () => this.#runners,
      preKill: () => this.#hooks.preKill(),
      maxRunExceeded: () => this.#reporter.maxRunExceeded,
    });
    this.#updates = new NewestUpdate({
      apply: (alloc) => this.#applyUpdate(alloc),
      isOver: () => this.#waitLatch.isSet,
    });
  }

  /** Second half of the construction: tasks and hooks refer to the runner. */
  attach(tasks: readonly RunnerTask[], hooks: AllocHookRunner): void {
    this.#runners = tasks.map((t) => t.runner);
    this.#requests = new AllocRequests(tasks);
    this.#hooks = hooks;
  }

  get reporter(): AllocReporter {
    return this.#reporter;
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

  async run(): Promise<void> {
    this.#runStarted = true;
    try {
      if (!this.#shuttingDown) await this.#runTasks();
    } catch (err) {
      this.#parts.logger.error({ err }, "alloc runner failed");
    }
    this.#turn?.end();
    this.#waitLatch.set();
    this.#reporter.report();
  }

  async #runTasks(): Promise<void> {
    if (!this.#restored) {
      for (const { record } of this.#runners) record.append({ type: TASK_EVENT.received });
    }
    this.onTaskChange();
    // What was written down by a former process, but not told before it was killed; nothing is sent when the server knows it.
    if (this.#restored) this.#reporter.report();
    if (this.#shouldRun()) {
      // What a former process left is taken over at once: nobody knows how long its tasks wait for something.
      if (!this.#restored) this.#turn = await this.#c.startTurns?.enter(this.#ending.signal);
      await this.#prerun();
    }
    await Promise.all(this.#runners.map((runner) => runner.run()));
    // Let go while tasks live, they need what postrun takes away; after their end nobody does.
    if (!this.#shuttingDown || this.#runners.every(isDead)) await this.#hooks.postrun();
  }

  async #prerun(): Promise<void> {
    try {
      await this.#hooks.prerun(this.#ending.signal);
    } catch (cause) {
      if (this.#ending.signal.aborted) return;
      // The runners still run, so that a restored task is really stopped (hashicorp/nomad#17102).
      const error = `failed to setup alloc: ${messageOf(cause)}`;
      const facts = { error, reason: TASK_EVENT.failedRestoring, failsTask: true };
      for (const runner of this.#runners) void runner.kill({ type: TASK_EVENT.setupFailure, facts });
    }
  }

  #shouldRun(): boolean {
    if (isServerTerminal(this.#alloc.DesiredStatus) || isClientTerminal(this.#alloc.ClientStatus)) return false;
    return !isClientTerminal(this.#reporter.status.status);
  }

  async restore(): Promise<void> {
    this.#restored = true;
    this.#reporter.restore();
    this.setNetworkStatus(this.#reporter.network);
    for (const runner of this.#runners) runner.restore();
    this.#parts.coordinator.restore(this.#liveStates());
    try {
      await this.#parts.allocDir.stat("/");
    } catch (cause) {
      // A former process may have been killed before it built the folder: then nothing can be missing in it.
      if (this.#runners.every(neverStarted)) return;
      // Or while it deleted the folder of one that had ended: its end stays what it was.
      if (isClientTerminal(this.#reporter.status.status)) return;
      throw new OutriderError("ERR_OUTRIDER_ALLOC_RESTORE", "allocation directory is inaccessible", { cause });
    }
  }

  /** Kept at once, and part of each task's environment. */
  setNetworkStatus(status: AllocNetworkStatus | null): void {
    this.#reporter.network = status;
    for (const runner of this.#runners) runner.context.env.setNetworkStatus(status);
  }

  update(alloc: Allocation): void {
    if (this.#waitLatch.isSet) return;
    if (alloc.DesiredTransition.NoShutdownDelay === true) this.#parts.skipShutdownDelay.abort();
    this.#updates.push(alloc);
  }

  async #applyUpdate(alloc: Allocation): Promise<void> {
    const wasTerminal = isServerTerminal(this.#alloc.DesiredStatus);
    this.#alloc = alloc;
    for (const runner of this.#runners) runner.update(alloc);
    this.#parts.coordinator.setStages(new Map(this.#runners.map((r) => [r.name, stageOf(r.lifecycle)])));
    this.onTaskChange();
    if (!isServerTerminal(alloc.DesiredStatus)) await this.#hooks.update(alloc);
    else if (!wasTerminal) void this.#ending.kill();
  }

  async reconnect(alloc: Allocation): Promise<void> {
    const { AllocModifyIndex, ModifyIndex, ModifyTime } = alloc;
    this.#alloc = { ...this.#alloc, AllocModifyIndex, ModifyIndex, ModifyTime };
    for (const { record } of this.#runners) record.append({ type: TASK_EVENT.reconnected });
    await this.#saveAlloc();
    await this.#eachRecord((record) => record.flush());
    this.#reporter.report();
  }

  shutdown(): void {
    if (this.#destroying || this.#shuttingDown) return;
    this.#shuttingDown = true;
    this.#ending.shutdown();
    for (const runner of this.#runners) runner.shutdown();
    void this.#finishShutdown();
  }

  async #finishShutdown(): Promise<void> {
    await this.#hooks.shutdown();
    if (this.#runStarted) await this.waitDone;
    // What is not on disk yet is told again by the tasks themselves after the next start.
    const late = sleep(LAST_WRITES_MS, { clock: this.#c.clock, ref: false });
    await Promise.race([this.#eachRecord((record) => record.flush()), late]);
    await this.#eachRecord((record) => record.close());
    this.#waitLatch.set();
    this.#shutdownLatch.set();
  }

  destroy(): void {
    if (this.#destroying) return;
    this.#destroying = true;
    void this.#finishDestroy();
  }

  async #finishDestroy(): Promise<void> {
    if (this.#shuttingDown) await this.shutdownDone;
    else if (this.#runStarted) {
      await this.#ending.kill();
      await this.waitDone;
    } else {
      // Its restore failed: what there is of its tasks is stopped all the same.
      const ended = this.#runners.map((runner) => runner.run());
      for (const runner of this.#runners) void runner.kill();
      await Promise.all(ended);
    }
    // Let go by a shutdown, tasks may live: then their state must stay.
    if (this.#runners.every(isDead)) {
      await this.#hooks.destroy();
      await this.#eachRecord((record) => record.close());
      await this.#deleteState();
    }
    this.#waitLatch.set();
    this.#reporter.report();
    this.#reporter.close();
    this.#destroyLatch.set();
    this.#shutdownLatch.set();
  }

  async #deleteState(): Promise<void> {
    try {
      await this.#c.state.write({ deletePrefix: [allocKeys(this.#alloc.ID).prefix] });
    } catch (err) {
      this.#parts.logger.error({ err }, "state of a destroyed allocation cannot be deleted");
    }
  }

  async #saveAlloc(): Promise<void> {
    await this.#c.state.write({ put: { [allocKeys(this.#alloc.ID).alloc]: this.#alloc } });
  }

  async #eachRecord(act: (record: TaskRunner["record"]) => Promise<void>): Promise<void> {
    await Promise.all(this.#runners.map((runner) => act(runner.record)));
  }

  async persistState(): Promise<void> {
    if (this.isDestroyed()) return this.#deleteState();
    if (this.#destroying) return;
    await this.#saveAlloc();
    await this.#eachRecord((record) => record.save());
  }

  allocState(): AllocState {
    return this.#reporter.state();
  }

  acknowledgeState(state: AckState): void {
    this.#reporter.acknowledge(state);
  }

  getUpdatePriority(update: AllocUpdate): UpdatePriority {
    return this.#reporter.priority(update);
  }

  setClientStatus(status: string): void {
    this.#reporter.force({ status, description: status === "failed" ? "Failed tasks" : "" });
  }

  listener(): BroadcastListener<AllocUpdate> {
    return this.#reporter.listen();
  }

  signal(task: string, signal: string): Promise<void> {
    return this.#requests.signal(task, signal);
  }

  /** What the service checks last said, by check. */
  checkResults(): Readonly<Record<string, CheckResult>> {
    return this.#parts.checks.results();
  }

  async restartTask(task: string, event: TaskEventInput): Promise<void> {
    await this.#requests.find(task).restart(event);
  }

  async restartRunning(event: TaskEventInput): Promise<void> {
    await this.#beforeRestart();
    await this.#requests.restartRunning(event);
  }

  async restartAll(event: TaskEventInput): Promise<void> {
    await this.#beforeRestart();
    this.#parts.coordinator.restart();
    await this.#requests.restartAll(event);
    this.onTaskChange();
  }

  async #beforeRestart(): Promise<void> {
    if (!this.#shouldRun()) {
      throw new OutriderError("ERR_OUTRIDER_ALLOC_TERMINAL", "restart of an alloc that should not run");
    }
    await this.#hooks.preTaskRestart();
  }

  taskEventHandler(task: string): DriverEventHandler | undefined {
    return this.#requests.eventHandler(task);
  }

  taskExecHandler(task: string): TaskExecHandler | undefined {
    return this.#requests.execHandler(task);
  }

  taskDriverCapabilities(task: string): Promise<DriverCapabilities> {
    return this.#requests.capabilities(task);
  }

  statsReporter(): AllocStatsReporter {
    return this.#requests.stats();
  }

  setTaskPauseState(task: string, state: PauseRequest): Promise<void> {
    return this.#requests.setPause(task, state);
  }

  getTaskPauseState(task: string): TaskPauseState {
    return this.#requests.getPause(task);
  }

  /** A live task state changed: works out what follows, soon and once for many changes. */
  onTaskChange(): void {
    if (this.#passing) return;
    this.#passing = true;
    queueMicrotask(() => {
      this.#passing = false;
      this.#pass();
    });
  }

  /** Adds an event to each task that keeps the group alive; false when none does. */
  tellLiving(event: TaskEventInput): boolean {
    const living = this.#runners.filter((runner) => isBeforePoststop(runner) && !isDead(runner));
    for (const runner of living) runner.record.append(event);
    return living.length > 0;
  }

  onMaxRunExceeded(): void {
    if (this.#ending.isBegun || this.#waitLatch.isSet) return;
    this.#reporter.maxRunExceeded = true;
    void this.#ending.kill();
  }

  async setHealth(healthy: boolean | null, events: ReadonlyMap<string, TaskEventInput>): Promise<void> {
    if (this.#destroying) return;
    await this.#reporter.setHealth(healthy);
    for (const [task, event] of events) this.#requests.find(task).record.append(event);
    this.#reporter.report();
  }

  #pass(): void {
    if (!this.#runners.some(isPending)) this.#turn?.end();
    if (this.#shuttingDown) return;
    this.#ending.follow(this.#runStarted);
    this.#parts.coordinator.update(this.#liveStates());
  }

  #liveStates(): Map<string, TaskRunner["record"]["state"]> {
    return new Map(this.#runners.map((runner) => [runner.name, runner.record.state]));
  }
}
