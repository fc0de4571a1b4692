import { sleep, type Clock } from "@outrider/backoff";
import { OutriderError } from "@outrider/foundation";
import {
  appendTaskEvent,
  taskEvent,
  timeText,
  type Allocation,
  type Task,
  type TaskPauseState,
  type TaskState,
} from "@outrider/nomad-structs";
import type { PauseRequest } from "../pause-state.ts";
import type { TaskEventInput } from "../task-event-input.ts";
import {
  DEFAULT_BATCH_MS,
  DEFAULT_SETUP,
  DEFAULT_START_MS,
  DEFAULT_STOP_MS,
  type SimulatedRunnerOptions,
} from "./simulated-options.ts";

const NEW_STATE: TaskState = {
  State: "pending",
  Failed: false,
  Restarts: 0,
  LastRestart: null,
  StartedAt: null,
  FinishedAt: null,
  Events: [],
  Paused: "",
};

/** One task that does nothing but change its state. States are replaced, never changed in place. */
export class SimulatedTask {
  readonly name: string;
  readonly #clock: Clock;
  readonly #o: SimulatedRunnerOptions;
  readonly #onChange: () => void;
  #state: TaskState;
  /** Ends what the task waits for. */
  #life = new AbortController();

  constructor(task: Task, known: TaskState | undefined, clock: Clock, o: SimulatedRunnerOptions, onChange: () => void) {
    this.name = task.Name;
    this.#clock = clock;
    this.#o = o;
    this.#onChange = onChange;
    this.#state = structuredClone(known ?? NEW_STATE);
  }

  get state(): TaskState {
    return this.#state;
  }

  get isDead(): boolean {
    return this.#state.State === "dead";
  }

  append(event: TaskEventInput, change: Partial<TaskState> = {}): void {
    const last = this.#state.Events?.at(-1)?.Time ?? 0;
    const time = Math.max(this.#clock.now() * 1e6, last + 1_000);
    const full = { ...taskEvent(event.type, time / 1e6, event.facts), Time: time };
    const events = appendTaskEvent(this.#state.Events, full);
    this.#state = { ...this.#state, Events: events, Failed: this.#state.Failed || full.FailsTask, ...change };
    this.#onChange();
  }

  /** Lives until it has ended, or until `signal` lets go of it. */
  async run(alloc: Allocation, task: Task, signal: AbortSignal): Promise<void> {
    if (this.isDead) return;
    if (this.#state.State !== "running") {
      if ((this.#state.Events ?? []).length === 0) this.append({ type: "Received" });
      for (const { afterMs, event } of this.#o.setup ?? DEFAULT_SETUP) {
        if (!(await this.#wait(afterMs, signal))) return;
        this.append(event);
      }
      if (!(await this.#wait(this.#o.startMs ?? DEFAULT_START_MS, signal))) return;
      this.#start();
    }
    const runFor = (this.#o.runForMs ?? defaultRunFor)(alloc, task);
    if (runFor === undefined || !(await this.#wait(runFor, signal))) return;
    this.#end(this.#o.exitCode?.(alloc, task) ?? 0);
  }

  /** Ends the task, after the time that a stop takes. */
  async stop(signal: AbortSignal): Promise<void> {
    if (this.isDead) return;
    const wasRunning = this.#state.State === "running";
    this.#life.abort();
    this.#life = new AbortController();
    this.append({ type: "Killing", facts: { killTimeoutNs: 5e9 } });
    if (wasRunning && !(await this.#wait(this.#o.stopMs ?? DEFAULT_STOP_MS, signal))) return;
    const dead = { State: "dead", FinishedAt: timeText(this.#clock.now()) };
    if (!wasRunning) {
      this.#state = { ...this.#state, ...dead };
      this.#onChange();
      return;
    }
    this.append({ type: "Terminated", facts: { exitCode: 130, signal: 2 } });
    this.append({ type: "Killed" }, dead);
  }

  restart(event: TaskEventInput): void {
    this.#assertRunning();
    this.append(event);
    this.#again();
    this.#start();
  }

  signal(name: string): void {
    this.#assertRunning();
    this.append({ type: "Signaling", facts: { signalName: name } });
  }

  pause(request: PauseRequest): void {
    if (this.isDead) throw notRunning();
    const paused: TaskPauseState = request === "schedule_resume" ? "" : request;
    if (paused === this.#state.Paused) return;
    const cause = paused === "" ? "schedule" : "override";
    if (paused === "force_pause") {
      const wasRunning = this.#state.State === "running";
      this.append({ type: "Pausing", facts: { cause } }, { Paused: paused });
      if (wasRunning) this.#again();
      return;
    }
    const wasPaused = this.#state.Paused === "force_pause";
    this.append({ type: "Running", facts: { cause } }, { Paused: paused });
    if (wasPaused && this.#state.StartedAt !== null) this.#start();
  }

  #start(): void {
    if (this.#state.Paused === "force_pause") return;
    this.append({ type: "Started" }, { State: "running", StartedAt: timeText(this.#clock.now()) });
  }

  #again(): void {
    const facts = { startDelayNs: 0, reason: "" };
    this.append({ type: "Terminated", facts: { exitCode: 130, signal: 2 } });
    const change = { State: "pending", Restarts: this.#state.Restarts + 1, LastRestart: timeText(this.#clock.now()) };
    this.append({ type: "Restarting", facts }, change);
  }

  #end(exitCode: number): void {
    const dead = { State: "dead", FinishedAt: timeText(this.#clock.now()) };
    if (exitCode === 0) return this.append({ type: "Terminated", facts: { exitCode } }, dead);
    this.append({ type: "Terminated", facts: { exitCode } });
    this.append({ type: "Not Restarting", facts: { reason: "Policy allows no restarts" } }, dead);
  }

  #assertRunning(): void {
    if (this.#state.State !== "running") throw notRunning();
  }

  /** False when it was cut short. */
  async #wait(ms: number, signal: AbortSignal): Promise<boolean> {
    const either = AbortSignal.any([signal, this.#life.signal]);
    return sleep(ms, { clock: this.#clock, signal: either }).then(
      () => true,
      () => false,
    );
  }
}

function defaultRunFor(alloc: Allocation): number | undefined {
  const type = alloc.Job?.Type;
  return type === "batch" || type === "sysbatch" ? DEFAULT_BATCH_MS : undefined;
}

function notRunning(): OutriderError {
  return new OutriderError("ERR_OUTRIDER_TASK_NOT_RUNNING", "Task not running");
}
