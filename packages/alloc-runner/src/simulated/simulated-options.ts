import type { Allocation, Task } from "@outrider/nomad-structs";
import type { TaskEventInput } from "../task-event-input.ts";

/** One step of a simulated start. @public */
export interface SimulatedStep {
  /** Wait before it, ms. */
  readonly afterMs: number;
  readonly event: TaskEventInput;
}

/** How simulated allocations behave. @public */
export interface SimulatedRunnerOptions {
  /** What happens between receipt and start; default: folder and hook messages over 400 ms. */
  readonly setup?: readonly SimulatedStep[];
  /** From the last step to the start, ms. Default 500. */
  readonly startMs?: number;
  /** From a stop to the end of the task, ms. Default 100. */
  readonly stopMs?: number;
  /** How long a task runs by itself, ms; undefined: until it is stopped. Default: 1,000 for batch and sysbatch jobs, for ever for others. */
  readonly runForMs?: (alloc: Allocation, task: Task) => number | undefined;
  /** How it ends then. Default 0. */
  readonly exitCode?: (alloc: Allocation, task: Task) => number;
}

/** The steps of a simulated start unless others are given. @public */
export const DEFAULT_SETUP: readonly SimulatedStep[] = [
  { afterMs: 100, event: { type: "Task Setup" } },
  { afterMs: 200, event: { type: "Task hook message", facts: { message: "preparing" } } },
  { afterMs: 100, event: { type: "Task hook message", facts: { message: "ready" } } },
];

/** Default of `startMs`. @public */
export const DEFAULT_START_MS = 500;
/** Default of `stopMs`. @public */
export const DEFAULT_STOP_MS = 100;
/** Run time of batch work unless told otherwise. @public */
export const DEFAULT_BATCH_MS = 1_000;
