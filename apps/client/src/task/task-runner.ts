import { createLatch, type PauseRequest, type TaskEventInput, type TaskHook } from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import { OutriderError } from "@outrider/foundation";
import { TASK_EVENT, type Allocation, type TaskPauseState } from "@outrider/nomad-structs";
import { createTaskContext } from "./create-task-context.ts";
import { settledBefore } from "./kill-signals.ts";
import { RestartDelay } from "./restart-delay.ts";
import type { TaskContext, TaskRunnerParts } from "./task-context.ts";
import { messageOf } from "./task-hook-failure.ts";
import { runLife, type Outcome } from "./task-life.ts";
import { findTask, isAllocOver, lifecycleOf, restartRulesOf } from "./task-lookup.ts";
import type { TaskRecord } from "./task-record.ts";
import { recoverTask, stopLeftover } from "./task-recovery.ts";
import { stopForRestart } from "./task-stopper.ts";

/** Runs one task: the main loop of client-runtime.md 4.1, and what may be asked of it from outside. */
export class TaskRunner {
  readonly name: string;
  /** Resolves when the run loop has ended, by itself or by a shutdown. */
  readonly done: Promise<void>;
  readonly #c: TaskContext;
  readonly #done = createLatch();
  readonly #delay: RestartDelay;
  /** Wakes the loop of a dead task. */
  #revive: (() => void) | undefined;
  #restored = false;

  constructor(parts: TaskRunnerParts, hooks: (context: TaskContext) => readonly TaskHook<TaskDir>[]) {
    this.name = parts.task.Name;
    this.done = this.#done.promise;
    const control = {
      restart: (event: TaskEventInput, o?: { readonly failure?: boolean }) => this.restart(event, o),
      signal: (name: string, reason?: string) => this.signal(name, reason),
    };
    this.#c = createTaskContext(parts, control, hooks);
    this.#delay = new RestartDelay(this.#c);
  }

  get record(): TaskRecord {
    return this.#c.record;
  }

  get context(): TaskContext {
    return this.#c;
  }

  get lifecycle(): { readonly hook: string; readonly sidecar: boolean } | undefined {
    return lifecycleOf(this.#c.task);
  }

  get isLeader(): boolean {
    return this.#c.task.Leader;
  }

  get isBeingKilled(): boolean {
    return this.#c.signals.kill.aborted;
  }

  /** Runs to the end; never rejects. */
  async run(): Promise<void> {
    const { record, logger } = this.#c;
    try {
      await this.#loop();
    } catch (err) {
      if (!this.#c.signals.shutdown.aborted) {
        logger.error({ err }, "task runner failed");
        record.enter("dead", { type: TASK_EVENT.setupFailure, facts: { error: String(err), failsTask: true } });
      }
    }
    if (!this.#c.signals.shutdown.aborted) await record.flush();
    this.#done.set();
  }

  async #loop(): Promise<void> {
    const { record, hooks, signals } = this.#c;
    let dead = record.phase === "dead";
    if (this.#restored) void this.#c.starter.forgetEnded().catch(() => undefined);
    if (dead && record.local.runComplete === true) return hooks.stop();
    if (!dead && (await this.#waitDriver()) && this.#restored) await recoverTask(this.#c);
    for (;;) {
      if (signals.shutdown.aborted) return;
      if (!dead && (await this.#lives()) === "shutdown") return;
      if (!(await stopLeftover(this.#c))) return;
      if (record.phase !== "dead") record.enter("dead");
      dead = false;
      if (this.lifecycle?.hook === "poststop") break;
      if (!(await this.#waitRevived())) break;
    }
    if (signals.shutdown.aborted) return;
    record.setLocal({ runComplete: true });
    await record.flush();
    await hooks.stop();
  }

  /** One life after the other, until the task is not to start again. */
  async #lives(): Promise<Outcome> {
    const { signals, gate } = this.#c;
    if (this.#c.driver === undefined && (signals.kill.aborted || !(await this.#waitDriver()))) {
      return signals.shutdown.aborted ? "shutdown" : "done";
    }
    for (;;) {
      // A restored task of an allocation that was ended meanwhile is stopped, not taken up.
      if (this.#isAllocOver()) return "done";
      if (this.#c.live === undefined) {
        if (signals.kill.aborted) return "done";
        await this.#delay.wait();
        if (!signals.either.aborted) await settledBefore(gate(signals.either), signals.either).catch(() => undefined);
        if (signals.shutdown.aborted) return "shutdown";
        if (signals.kill.aborted || this.#isAllocOver()) return "done";
      }
      const outcome = await runLife(this.#c);
      if (outcome !== "again") return outcome;
    }
  }

  /** True when a dead task is to run again; false on kill and shutdown. */
  async #waitRevived(): Promise<boolean> {
    const revived = new Promise<void>((resolve) => {
      this.#revive = resolve;
    });
    const again = await settledBefore(revived, this.#c.signals.either);
    this.#revive = undefined;
    return again;
  }

  /** Takes up what a former process left on disk; before `run`, which then looks for the task itself. */
  restore(): void {
    const { record, hooks, tracker, pause, env } = this.#c;
    if (!record.load()) return;
    hooks.restore();
    if (record.local.restart !== undefined) tracker.restore(record.local.restart);
    pause.restore(record.state.Paused as TaskPauseState);
    env.setDriverNetwork(record.local.network);
    this.#restored = true;
  }

  /** False when the task was ended or let go first, or has no driver. A stop waits too, as long as a task of a former process may live. */
  async #waitDriver(): Promise<boolean> {
    const { record, signals, driverFacts } = this.#c;
    const { handle, starting } = record.local;
    const signal = handle === undefined && starting === undefined ? signals.either : signals.shutdown;
    try {
      this.#c.driver = await driverFacts(signal);
      return true;
    } catch (cause) {
      if (signal.aborted) return false;
      record.append({ type: TASK_EVENT.driverFailure, facts: { error: messageOf(cause) } });
      record.enter("dead", { type: TASK_EVENT.notRestarting, facts: { reason: "Error was unrecoverable" } });
      signals.setKill();
      return false;
    }
  }

  /** Ends the task for good. The event is shown unless the task is being ended or dead already. Resolves with the run loop. */
  async kill(event?: TaskEventInput): Promise<void> {
    const { signals, record } = this.#c;
    if (!signals.kill.aborted && !this.#done.isSet) {
      if (event !== undefined && record.phase !== "dead") record.append(event);
      signals.setKill();
    }
    await this.done;
  }

  /** Lets go of the task without stopping it. */
  shutdown(): void {
    this.#c.signals.setShutdown();
    void this.#c.hooks.shutdown();
  }

  /** A restart of a task that runs (or waits for its next start). Resolves when it has ended. */
  async restart(event: TaskEventInput, o: { readonly failure?: boolean } = {}): Promise<void> {
    const { live, record, tracker } = this.#c;
    if (this.#delay.isWaiting && o.failure !== true) {
      record.append(event);
      this.#delay.skip();
      return;
    }
    if (record.phase !== "running" || live === undefined || live.result !== undefined) throw notRunning();
    // On a full disk the task would be stopped and could not start again until there is room.
    if (o.failure !== true) await record.confirmWritable();
    if (this.#c.live !== live || live.result !== undefined) throw notRunning();
    record.append(event);
    tracker.setRestartTriggered(o.failure ?? false);
    await stopForRestart(this.#c, live, { delay: true });
  }

  /** As `restart`, but a dead task lives again, and one that waits to start is left alone. */
  async forceRestart(event: TaskEventInput): Promise<void> {
    const { record } = this.#c;
    if (record.phase === "running") return this.restart(event);
    if (record.phase !== "dead" || this.#revive === undefined) return;
    record.append(event);
    record.enter("pending", { type: TASK_EVENT.restarting, facts: { startDelayNs: 0, reason: "" } });
    this.#revive();
  }

  async signal(name: string, reason?: string): Promise<void> {
    const { live, record } = this.#c;
    if (record.phase !== "running" || live === undefined) throw notRunning();
    record.append({
      type: TASK_EVENT.signaling,
      facts: { signalName: name, ...(reason === undefined ? {} : { reason }) },
    });
    await live.sendSignal(name);
  }

  /** The settled pause state is readable when this returns. Throws `Task not running` for a dead task. */
  setPause(request: PauseRequest): void {
    if (this.#c.record.phase === "dead") throw notRunning();
    this.#c.pause.request(request);
  }

  /** A new server version. */
  update(alloc: Allocation): void {
    const task = findTask(alloc, this.name);
    if (task === undefined) {
      void this.kill({
        type: TASK_EVENT.killed,
        facts: { error: "task is not part of the new version", failsTask: true },
      });
      return;
    }
    this.#c.alloc = alloc;
    this.#c.task = task;
    this.#c.env.update(alloc, task);
    this.#c.tracker.update(restartRulesOf(alloc, task));
    if (!this.#isAllocOver()) this.#c.hooks.update(alloc);
  }

  #isAllocOver(): boolean {
    return isAllocOver(this.#c.alloc, this.#c.task);
  }
}

function notRunning(): OutriderError {
  return new OutriderError("ERR_OUTRIDER_TASK_NOT_RUNNING", "Task not running");
}
