import type { AllocResourceUsage, Allocation, DriverCapabilities, TaskPauseState } from "@outrider/nomad-structs";
import type { AckState, AllocState, AllocUpdate } from "./alloc-state.ts";
import type { BroadcastListener } from "./broadcaster.ts";
import type { PauseRequest } from "./pause-state.ts";
import type { DriverEventHandler, TaskExecHandler } from "./task-access.ts";
import type { TaskEventInput } from "./task-event-input.ts";
import type { UpdatePriority } from "./update-priority.ts";

/** Usage of an allocation's tasks. @public */
export interface AllocStatsReporter {
  /** The latest sample of each task, and the sum of the running ones. An unknown task name gives an empty result. */
  latestAllocStats(task?: string): AllocResourceUsage;
}

/**
 * Runs one allocation. Every method may be called while {@link AllocRunner.run} is under way; none calls back into the state
 * updater before it returns, except through microtasks.
 *
 * `Dir` is the type of the allocation's folder: a client says which one it uses.
 * @public
 */
export interface AllocRunner<Dir = unknown> {
  /** The server's latest version. Its task states are not live: see {@link AllocRunner.allocState}. */
  alloc(): Allocation;
  /** Runs everything to the end; resolves when the run loop has ended. Never rejects. Called at most once. */
  run(): Promise<void>;
  /** Loads persisted state; before {@link AllocRunner.run}. Rejects when the allocation's folder cannot be read. */
  restore(): Promise<void>;
  /** Takes a new server version. Returns at once; only the newest (by `AllocModifyIndex`) pending one is kept; ignored after the end. */
  update(alloc: Allocation): void;
  /** The server had given this allocation up as `unknown`: adds a `Reconnected` event to each task and reports the live state. */
  reconnect(alloc: Allocation): Promise<void>;
  /** The process is about to exit: lets go of the tasks without stopping them. Idempotent; nothing if a destroy was started. */
  shutdown(): void;
  /** Stops all tasks, cleans up, deletes the state. Idempotent; after a shutdown it runs when that is over. */
  destroy(): void;
  isDestroyed(): boolean;
  /** Copying the disk of a previous allocation. */
  isMigrating(): boolean;
  /** Waiting for a previous allocation to end. */
  isWaiting(): boolean;
  /** Resolves when the run loop has ended; the same promise on every read. */
  readonly waitDone: Promise<void>;
  /** Resolves when a destroy has finished; the same promise on every read. */
  readonly destroyDone: Promise<void>;
  /** Resolves when a shutdown or a destroy has finished; the same promise on every read. */
  readonly shutdownDone: Promise<void>;
  /** The live state, with the computed client status. */
  allocState(): AllocState;
  /** Periodic save. Once destroyed it deletes instead, so that nothing comes back to life. */
  persistState(): Promise<void>;
  /** A server confirmed this state. Only remembers it: the caller keeps the acks of a whole batch in one write. */
  acknowledgeState(state: AckState): void;
  /** How urgent an update is, measured against the last acknowledged state ({@link updatePriority}). */
  getUpdatePriority(update: AllocUpdate): UpdatePriority;
  /** Forces a client status (a failed restore). */
  setClientStatus(status: string): void;
  /** Sends a signal to one task, or to all with an empty name. Rejects with `Task not found` or `Task not running`. */
  signal(task: string, signal: string): Promise<void>;
  /** Rejects with `Could not find task runner for task: <name>` or `Task not running`. */
  restartTask(task: string, event: TaskEventInput): Promise<void>;
  /** Restarts what runs. */
  restartRunning(event: TaskEventInput): Promise<void>;
  /** Restarts everything, prestart tasks first; also revives tasks that ended. */
  restartAll(event: TaskEventInput): Promise<void>;
  /** Where a driver puts events of a task; undefined for an unknown one. */
  taskEventHandler(task: string): DriverEventHandler | undefined;
  /** Runs a command inside a task; undefined for an unknown task or one that does not run. */
  taskExecHandler(task: string): TaskExecHandler | undefined;
  /** What the task's driver can do. Rejects with `task not found`. */
  taskDriverCapabilities(task: string): Promise<DriverCapabilities>;
  statsReporter(): AllocStatsReporter;
  /** Subscribes to updates of the allocation: the last one at once, then each newer one; slow readers skip. */
  listener(): BroadcastListener<AllocUpdate>;
  getAllocDir(): Dir;
  /** Overrides the schedule of a task, or with an empty name of all main tasks. What it set is readable when it resolves. */
  setTaskPauseState(task: string, state: PauseRequest): Promise<void>;
  /** An empty name gives the state that all main tasks share; rejects if they differ. */
  getTaskPauseState(task: string): TaskPauseState;
}
