import { isPaused, timeMs, type TaskState } from "@outrider/nomad-structs";
import type { Stage } from "./coordinator.ts";

/** What is known of a task for the health of its allocation. */
export interface TrackedTask {
  readonly name: string;
  readonly stage: Stage;
}

/** How the tasks of an allocation are doing. */
export type TaskHealth =
  | { readonly kind: "unhealthy"; readonly tasks: readonly string[] }
  /** Something has not started. */
  | { readonly kind: "waiting"; readonly paused: boolean }
  /** All run since this instant, epoch ms. */
  | { readonly kind: "running"; readonly sinceMs: number };

/** Judges the states of an allocation's tasks (client-runtime.md 5.2). */
export function taskHealth(tasks: readonly TrackedTask[], states: Readonly<Record<string, TaskState>>): TaskHealth {
  const watched = tasks
    .filter((t) => t.stage !== "poststop")
    .map((t) => ({ ...t, state: states[t.name] }))
    // A poststart task that did its work has no further say.
    .filter((t) => !(t.stage === "poststart" && t.state?.State === "dead" && !t.state.Failed));
  const bad = watched.filter(
    (t) => t.state !== undefined && (t.state.Failed || (t.state.FinishedAt !== null && t.stage !== "prestart")),
  );
  if (bad.length > 0) return { kind: "unhealthy", tasks: bad.map((t) => t.name) };
  const pending = watched.filter((t) => t.state === undefined || t.state.State === "pending");
  if (pending.length > 0) {
    return { kind: "waiting", paused: pending.some((t) => isPaused(t.state?.Paused ?? "")) };
  }
  const starts = watched.map((t) => timeMs(t.state?.StartedAt) ?? 0);
  return { kind: "running", sinceMs: Math.max(0, ...starts) };
}

/** Why a task keeps its allocation from being healthy; undefined for one that does not. */
export function unhealthyReason(
  task: TrackedTask,
  state: TaskState | undefined,
  o: { readonly deadlinePassed: boolean; readonly minHealthyTime: string; readonly healthyDeadline: string },
): string | undefined {
  if (task.stage === "poststop") return undefined;
  if (state?.Failed === true) return "Unhealthy because of failed task";
  if (state === undefined || state.State === "pending") {
    return o.deadlinePassed ? `Task not running by healthy_deadline of ${o.healthyDeadline}` : undefined;
  }
  if (state.State === "dead") return task.stage === "prestart" ? undefined : "Unhealthy because of dead task";
  if (!o.deadlinePassed) return undefined;
  return `Task not running for min_healthy_time of ${o.minHealthyTime} by healthy_deadline of ${o.healthyDeadline}`;
}
