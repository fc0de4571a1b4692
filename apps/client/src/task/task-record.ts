import type { AllocStatePersist, TaskEventInput } from "@outrider/alloc-runner";
import { sleep, type Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { appendTaskEvent, TASK_EVENT, taskEvent, timeText, type TaskState } from "@outrider/nomad-structs";
import { copyPlain } from "../copy-plain.ts";
import { EMPTY_LOCAL_STATE, type TaskLocalState } from "./task-local-state.ts";

/** Waits between tries to write, while the disk refuses. */
const RETRY_MS = [250, 500, 1_000, 2_000, 5_000] as const;

/** How long a note may wait for a change that is written anyway, ms. */
const NOTE_MS = 100;

export type TaskPhase = "pending" | "running" | "dead";

/** Made once: a reason made by `abort()` itself takes a stack along. */
const CLOSED = new Error("the record is closed");

type LocalPatch = { readonly [K in keyof TaskLocalState]?: TaskLocalState[K] | undefined };

/** More than an end and a new start take, with the whole configuration of the task. */
const RESTART_ROOM_BYTES = 16_384;

/** A `TaskState` of a task that has done nothing yet. */
export function pendingTaskState(): TaskState {
  return {
    State: "pending",
    Failed: false,
    Restarts: 0,
    LastRestart: null,
    StartedAt: null,
    FinishedAt: null,
    Events: [],
    Paused: "",
  };
}

export interface TaskRecordOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly persist: AllocStatePersist;
  readonly keys: { readonly taskState: string; readonly localState: string };
  readonly initial?: TaskState | undefined;
  /** The phase changed, or the task is about to start anew. */
  readonly onPhase?: (to: TaskPhase | "restarting", state: TaskState) => void;
  /** The live state changed. */
  readonly onChange: () => void;
  /** A newer state is durable. */
  readonly onDurable: () => void;
}

/**
 * The two states of one task: the live one, by which the agent acts, and the durable one, which alone is told to others. Changes made in
 * one go are written as one change set, so that a crash never leaves a part of them.
 */
export class TaskRecord {
  readonly #options: TaskRecordOptions;
  readonly #closed = new AbortController();
  #state: TaskState;
  #local: TaskLocalState = EMPTY_LOCAL_STATE;
  #durable: TaskState;
  /** What the disk has, as far as this process knows. */
  #written: { readonly state?: TaskState; readonly local?: TaskLocalState } = {};
  #version = 0;
  /** The version up to which is written now; later ones are notes that may wait. */
  #wanted = 0;
  #noteTimer: unknown;
  #durableVersion = 0;
  #lastEventNs = 0;
  #writing: Promise<void> | undefined;
  #waiters: Array<{ readonly version: number; readonly resolve: () => void }> = [];

  constructor(options: TaskRecordOptions) {
    this.#options = options;
    this.#state = options.initial === undefined ? pendingTaskState() : copyPlain(options.initial);
    this.#durable = this.#state;
  }

  /** The live state; frozen in effect: it is replaced, never changed. */
  get state(): TaskState {
    return this.#state;
  }

  get phase(): TaskPhase {
    return this.#state.State as TaskPhase;
  }

  get local(): TaskLocalState {
    return this.#local;
  }

  /** What may be told to others. Never change it. */
  get durable(): TaskState {
    return this.#durable;
  }

  /** Takes what a former process left. False if there is nothing. */
  load(): boolean {
    const { persist, keys } = this.#options;
    const state = persist.get<TaskState>(keys.taskState);
    const local = persist.get<TaskLocalState>(keys.localState);
    if (state !== undefined) {
      this.#state = { ...pendingTaskState(), ...state };
      this.#durable = this.#state;
      this.#lastEventNs = this.#state.Events?.at(-1)?.Time ?? 0;
    }
    if (local !== undefined) this.#local = { ...EMPTY_LOCAL_STATE, ...local };
    return state !== undefined || local !== undefined;
  }

  /** Adds an event; the time stamps of a task's events strictly grow. */
  append(event: TaskEventInput): void {
    this.#change({ ...this.#state, ...this.#withEvent(event) });
  }

  /** Changes the phase, with the event that tells why. */
  enter(phase: TaskPhase, event?: TaskEventInput): void {
    const from = this.phase;
    const now = timeText(this.#options.clock.now());
    let next: TaskState = { ...this.#state, ...(event === undefined ? {} : this.#withEvent(event)), State: phase };
    if (phase === "running" && from !== "running") next = { ...next, StartedAt: now, FinishedAt: null };
    if (phase === "dead" && next.FinishedAt === null) next = { ...next, FinishedAt: now };
    if (phase === "pending" && event?.type === TASK_EVENT.restarting) {
      next = { ...next, Restarts: next.Restarts + 1, LastRestart: now, FinishedAt: null };
    }
    this.#change(next);
    if (event?.type === TASK_EVENT.restarting) this.#options.onPhase?.("restarting", next);
    else if (from !== phase) this.#options.onPhase?.(phase, next);
  }

  setPaused(paused: TaskState["Paused"], event?: TaskEventInput): void {
    this.#change({ ...this.#state, ...(event === undefined ? {} : this.#withEvent(event)), Paused: paused });
  }

  /** Changes parts of the local state; undefined removes one. */
  setLocal(patch: LocalPatch): void {
    this.#patch(patch);
    this.#dirty();
  }

  /** As `setLocal`, for what may be done again after a crash: goes to disk with the next change or flush, or soon by itself. */
  noteLocal(patch: LocalPatch): void {
    this.#patch(patch);
    this.#version++;
    if (this.#closed.signal.aborted || this.#noteTimer !== undefined) return;
    this.#noteTimer = this.#options.clock.setTimeout(() => {
      this.#noteTimer = undefined;
      this.#writeNow();
    }, NOTE_MS);
  }

  #patch(patch: LocalPatch): void {
    const next: Record<string, unknown> = { ...this.#local, ...patch };
    for (const key of Object.keys(next)) if (next[key] === undefined) delete next[key];
    this.#local = next as unknown as TaskLocalState;
  }

  /** The driver has forgotten the ended task. Goes to disk with the next change: forgetting twice does no harm. */
  forgetEnded(): void {
    const { ended: _ended, ...rest } = this.#local;
    this.#local = rest;
  }

  /** Resolves when all that was changed before is durable, or the record was closed. */
  flush(): Promise<void> {
    const version = this.#version;
    if (this.#durableVersion >= version || this.#closed.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push({ version, resolve });
      this.#writeNow();
    });
  }

  /** Rejects when nothing can be written now: what takes a running task down must not begin if its next start could not be written down. */
  async confirmWritable(): Promise<void> {
    const { persist, keys } = this.#options;
    const key = `${keys.taskState}_room`;
    await persist.write({ put: { [key]: " ".repeat(RESTART_ROOM_BYTES) } });
    await persist.write({ delete: [key] });
  }

  /** Writes again, changed or not. */
  save(): Promise<void> {
    this.#written = {};
    this.#dirty();
    return this.flush();
  }

  /** Ends all writing; resolves when none is under way. */
  async close(): Promise<void> {
    this.#closed.abort(CLOSED);
    this.#forgetTimer();
    await this.#writing;
    this.#release(Infinity);
  }

  #withEvent(event: TaskEventInput): Pick<TaskState, "Events" | "Failed"> {
    // A double keeps 256 ns at this size: steps of a microsecond stay distinct.
    const time = Math.max(this.#options.clock.now() * 1e6, this.#lastEventNs + 1_000);
    this.#lastEventNs = time;
    const full = { ...taskEvent(event.type, time / 1e6, event.facts), Time: time };
    return { Events: appendTaskEvent(this.#state.Events, full), Failed: this.#state.Failed || full.FailsTask };
  }

  #change(next: TaskState): void {
    this.#state = next;
    this.#dirty();
    this.#options.onChange();
  }

  #dirty(): void {
    this.#version++;
    this.#writeNow();
  }

  #writeNow(): void {
    if (this.#closed.signal.aborted) return;
    this.#wanted = this.#version;
    this.#forgetTimer();
    this.#writing ??= this.#writeAll();
  }

  #forgetTimer(): void {
    if (this.#noteTimer !== undefined) this.#options.clock.clearTimeout(this.#noteTimer);
    this.#noteTimer = undefined;
  }

  async #writeAll(): Promise<void> {
    const { persist, keys, logger, clock } = this.#options;
    // Changes of the same turn belong together.
    await Promise.resolve();
    for (let failures = 0; this.#durableVersion < this.#wanted && !this.#closed.signal.aborted;) {
      const version = this.#version;
      const state = this.#state;
      const local = this.#local;
      try {
        const put: Record<string, unknown> = {};
        if (state !== this.#written.state) put[keys.taskState] = state;
        if (local !== this.#written.local) put[keys.localState] = local;
        await persist.write({ put, urgent: state.State === "dead" });
      } catch (err) {
        if (failures === 0) logger.error({ err }, "task state cannot be written: not reported until it can");
        const wait = RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)] as number;
        await sleep(wait, { clock, signal: this.#closed.signal, ref: false }).catch(() => undefined);
        continue;
      }
      failures = 0;
      this.#written = { state, local };
      this.#durable = state;
      this.#durableVersion = version;
      this.#release(version);
      this.#options.onDurable();
    }
    // In the same turn as the last look at the version, so that no change falls in between.
    this.#writing = undefined;
  }

  #release(version: number): void {
    const due = this.#waiters.filter((w) => w.version <= version);
    this.#waiters = this.#waiters.filter((w) => w.version > version);
    for (const waiter of due) waiter.resolve();
  }
}
