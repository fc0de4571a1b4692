/** Watches over all tasks: starts them by way of a shim, learns their end from the slots, tidies up after them. */
import { sleep } from "@outrider/backoff";
import { RecoverableError, TaskNotFoundError } from "@outrider/plugin-driver";
import { isMarked, killMembers, oomKilled, removeGroup, removeParents } from "./group.ts";
import { isAlive, readProcStat, signalProcess, UNKNOWN_START } from "./identity.ts";
import { fence } from "./fence.ts";
import { Launcher, type LaunchPlan } from "./launcher.ts";
import type { ShimExit } from "./slot.ts";
import { SlotWatcher } from "./slot-watcher.ts";
import type { SupervisorOptions } from "./supervisor-options.ts";
import { TaskRecord } from "./task-record.ts";
import { TaskStore } from "./task-store.ts";

const SIGKILL = 9;
const SIGCONT = 18;
/** How long a new task may take until its command runs. */
const START_LIMIT_MS = 15_000;
/** How long output is collected after the end. */
const DRAIN_MS = 2_000;

/** Holds the tasks of one state folder. Exactly one may exist for a folder: see the lock. */
export class Supervisor {
  readonly options: SupervisorOptions;
  readonly #records = new Map<string, TaskRecord>();
  readonly #launcher: Launcher;
  #watcher: SlotWatcher | undefined;
  #closed = false;

  constructor(options: SupervisorOptions) {
    this.options = options;
    this.#launcher = new Launcher(options);
  }

  get records(): Iterable<TaskRecord> {
    return this.#records.values();
  }

  /** The task with this id. @throws TaskNotFoundError */
  get(id: string): TaskRecord {
    const record = this.find(id);
    if (record === undefined) throw new TaskNotFoundError(id);
    return record;
  }

  find(id: string): TaskRecord | undefined {
    return this.#records.get(TaskStore.keyOf(id));
  }

  /** Begins to watch the slots: before {@link recover}, so that no end is missed. */
  watch(): void {
    const { store, clock, logger } = this.options;
    const listener = { changed: (key: string) => this.#changed(key), sweep: () => this.#sweep() };
    this.#watcher = new SlotWatcher(store.slots, listener, clock, logger);
  }

  /** Takes over what an earlier driver left. The log fifos have to be open by now: output of ended tasks is drained here. */
  recover(): void {
    for (const key of this.options.store.keys()) this.#adopt(key);
  }

  /** Starts a task, or waits for the start of one that is known by this id. */
  async start(plan: LaunchPlan): Promise<TaskRecord> {
    const key = TaskStore.keyOf(plan.config.id);
    const known = this.#records.get(key);
    if (known !== undefined) {
      known.config ??= plan.config;
      await known.started.promise;
      return known;
    }
    const record = this.#launcher.prepare(key, plan);
    this.#records.set(key, record);
    try {
      await this.#endForerunners(record);
      await this.#launcher.spawn(record, () => this.#changed(key));
      await this.#untilStarted(record);
      return record;
    } catch (reason) {
      await this.#undo(record);
      throw reason;
    } finally {
      this.#launcher.release(record);
    }
  }

  /** Sends the stop signal, then after the time-out ends everything. Resolves when the result is saved. */
  async stop(record: TaskRecord, signal: number, timeoutMs: number, abort?: AbortSignal): Promise<void> {
    const { clock } = this.options;
    if (record.hasEnded) return;
    await record.started.promise;
    if (timeoutMs > 0 && record.task !== undefined && signalProcess(record.task, signal)) {
      const patience = new AbortController();
      try {
        const late = sleep(timeoutMs, { clock, signal: patience.signal }).catch(() => undefined);
        await Promise.race([record.wait(abort), late]);
      } finally {
        // not before the race is over: an agent that goes away must not shorten the task's time
        patience.abort();
      }
      if (record.hasEnded) return;
    }
    await this.#kill(record);
    if (record.orphaned) this.#changed(record.key);
    await record.wait(abort);
  }

  /** Signals the task's first process. Returns false when it is gone. */
  signal(record: TaskRecord, signal: number): boolean {
    return record.task !== undefined && signalProcess(record.task, signal);
  }

  /** Forgets a task that has ended. */
  forget(record: TaskRecord): void {
    this.#records.delete(record.key);
    if (!record.hasEnded) record.abandon();
    // with bash as the shell, a trap of the shim may still write
    this.options.store.remove(record.key, record.exit !== undefined && !this.options.tools.shellIsBash);
    this.#removeParents();
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    this.#removeParents();
  }

  #removeParents(): void {
    if (this.#records.size === 0) removeParents(this.options.cgroups, this.#launcher.groupName("task"));
  }

  #adopt(key: string): void {
    const { store, bootId, logger } = this.options;
    const meta = store.readMeta(key);
    const slot = store.readSlot(key);
    if (meta === undefined) {
      logger.error({ key }, "the record of a task cannot be read; its processes, if any, are left alone");
      return;
    }
    const record = new TaskRecord(key, meta);
    record.shim = slot.shim;
    record.task = slot.task;
    if (meta.bootId !== bootId && slot.result === undefined && slot.exit === undefined) {
      logger.info({ taskId: meta.id }, "task ended with the machine");
      store.remove(key);
      return;
    }
    this.#records.set(key, record);
    if (slot.result !== undefined) {
      record.end(slot.result);
      this.#releaseShim(record);
    } else if (slot.shim !== undefined) {
      record.started.resolve();
      this.#changed(key);
    } else {
      void this.#fence(record);
    }
  }

  /** A start that an earlier driver did not see through. */
  async #fence(record: TaskRecord): Promise<void> {
    const { store, clock, logger } = this.options;
    const begun = await fence(store.specPath(record.key), () => store.readSlot(record.key).shim !== undefined, clock);
    if (this.#closed || this.#records.get(record.key) !== record) return;
    if (begun) {
      this.#changed(record.key);
      record.started.resolve();
      return;
    }
    logger.info({ taskId: record.meta.id }, "task was prepared but never started");
    await this.#undo(record);
  }

  /**
   * Ends other runs of the same task: an agent destroys one before it starts the next, so such a one was started by an agent that was killed
   * before it could write the start down. Nobody else would ever end it.
   */
  async #endForerunners({ key, meta }: TaskRecord): Promise<void> {
    const run = meta.id.slice(0, meta.id.lastIndexOf("/") + 1);
    for (const other of this.#records.values()) {
      if (other.key === key || run === "" || other.hasEnded || !other.meta.id.startsWith(run)) continue;
      if (other.meta.id.indexOf("/", run.length) >= 0) continue;
      this.options.logger.warn({ taskId: other.meta.id, next: meta.id }, "ending a run of this task that nobody knows");
      await this.stop(other, SIGKILL, 0);
      this.forget(other);
    }
  }

  async #untilStarted(record: TaskRecord): Promise<void> {
    const { clock, store, tools } = this.options;
    const until = clock.monotonic() + START_LIMIT_MS;
    let step = 1;
    for (;;) {
      if (record.shim !== undefined && isRunning(record, tools.shellIsBash)) break;
      if (record.orphaned && record.shim === undefined) {
        throw new RecoverableError("failed to launch command: the supervising shell ended at once", true);
      }
      if (clock.monotonic() > until) {
        throw new RecoverableError(`failed to launch command: it did not run within ${START_LIMIT_MS} ms`, true);
      }
      await sleep(step, { clock });
      step = Math.min(step + 1, 20);
      if (record.shim === undefined && step > 5) this.#changed(record.key);
    }
    store.retireSpec(record.key);
    record.started.resolve();
  }

  /** Takes back a start that failed: nothing of it may be left running or on disk. */
  async #undo(record: TaskRecord): Promise<void> {
    const { clock, store } = this.options;
    store.removeSpec(record.key);
    await this.#kill(record);
    this.#releaseShim(record);
    await removeGroup(record.meta.group, clock);
    if (this.#records.get(record.key) === record) this.#records.delete(record.key);
    record.abandon();
    store.remove(record.key);
  }

  /** A slot may have changed. */
  #changed(key: string): void {
    const record = this.#records.get(key);
    if (record === undefined || record.finishing || record.hasEnded || this.#closed) return;
    const slot = this.options.store.readSlot(key);
    record.shim ??= slot.shim;
    record.task ??= slot.task;
    if (slot.exit !== undefined) {
      record.exit = slot.exit;
      void this.#finish(record, slot.exit);
      return;
    }
    const shim = record.shim ?? this.#launcher.shimOf(record);
    if (shim === undefined || shim.startTime === UNKNOWN_START) return;
    if (!isAlive(shim)) this.#shimGone(record);
    else if (readProcStat(shim.pid)?.state === "T") signalProcess(shim, SIGCONT);
  }

  /** The shim was killed: the task lives on without anybody who learns its exit. */
  #shimGone(record: TaskRecord): void {
    if (!record.orphaned) {
      record.orphaned = true;
      // its last words may have come just now
      if (this.options.store.readSlot(record.key).exit !== undefined) return this.#changed(record.key);
      if (record.shim !== undefined)
        this.options.logger.warn({ taskId: record.meta.id }, "the supervising shell of a task was killed");
    }
    if (record.task === undefined || isAlive(record.task)) return;
    const text = "the supervising shell of the task was killed: its exit code is unknown";
    void this.#finish(record, { exitCode: -1, signal: 0 }, text);
  }

  /** Rest killed, output drained, result saved, waiters answered, shim released: in this order. */
  async #finish(record: TaskRecord, exit: ShimExit, error?: string): Promise<void> {
    if (record.finishing) return;
    record.finishing = true;
    const { clock, logger, logs, store } = this.options;
    const { group, fifos, id } = record.meta;
    await this.#kill(record);
    if (!(await logs.drain(fifos, DRAIN_MS))) logger.warn({ taskId: id }, "output was not collected to its end");
    const result = { ...exit, oomKilled: oomKilled(group) ?? false, completedAtMs: clock.now() };
    await removeGroup(group, clock);
    if (this.#records.get(record.key) !== record) return;
    try {
      store.saveResult(record.key, result);
    } catch (reason) {
      // the shim's record stands: a later driver finishes again and comes to the same result
      logger.error({ err: reason, taskId: id }, "result of a task could not be saved");
    }
    store.removeSpec(record.key);
    record.end(result, error);
    this.#releaseShim(record);
  }

  async #kill(record: TaskRecord): Promise<void> {
    const { clock, logger } = this.options;
    if (!(await killMembers(record.meta.group, record.meta.id, clock))) {
      logger.error({ taskId: record.meta.id }, "processes of a task could not be ended");
    }
    if (record.task !== undefined) signalProcess(record.task, SIGKILL);
  }

  #releaseShim(record: TaskRecord): void {
    const shim = record.shim ?? this.#launcher.shimOf(record);
    if (shim !== undefined) signalProcess(shim, SIGKILL);
  }

  #sweep(): void {
    this.options.spawner.reap();
    for (const key of this.#records.keys()) this.#changed(key);
  }
}

/**
 * The child has left the shell, and so has read all of its spec, or it has ended already. With bash it leads its group from the fork on, which
 * proves nothing: there the environment tells.
 */
function isRunning({ task, exit, hasEnded, meta }: TaskRecord, bash: boolean): boolean {
  if (task === undefined) return false;
  if (exit !== undefined || hasEnded || task.startTime === UNKNOWN_START) return true;
  const stat = readProcStat(task.pid);
  if (stat === undefined || stat.startTime !== task.startTime || stat.state === "Z") return true;
  return bash ? isMarked(task.pid, meta.id) : stat.session === task.pid;
}
