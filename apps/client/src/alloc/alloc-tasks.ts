import type { TaskEventInput } from "@outrider/alloc-runner";
import { msToNs, TASK_EVENT } from "@outrider/nomad-structs";
import { killTimeoutMs } from "../task/task-stopper.ts";
import type { TaskRunner } from "../task/task-runner.ts";
import { MAX_RUN_EXCEEDED } from "./client-status.ts";

/** Why the tasks that still live must end, told by the states of the others (client-runtime.md 3.3). */
export type EndReason =
  | { readonly kind: "sibling"; readonly task: string }
  | { readonly kind: "leader" }
  | { readonly kind: "main" };

/** Whether a task keeps its group alive: everything but poststop tasks. */
export function isBeforePoststop(runner: TaskRunner): boolean {
  return runner.lifecycle?.hook !== "poststop";
}

export function isPending(runner: TaskRunner): boolean {
  return runner.record.phase === "pending";
}

export function isDead(runner: TaskRunner): boolean {
  return runner.record.phase === "dead";
}

/** Whether no process of a task can ever have been here, also before a restart of the agent. */
export function neverStarted({ record }: TaskRunner): boolean {
  const { handle, starting, ended } = record.local;
  return record.phase === "pending" && record.state.StartedAt === null && !handle && !starting && ended === undefined;
}

/** The reason to end the tasks that live; a dead leader outweighs a failed sibling. */
export function endReason(runners: readonly TaskRunner[]): EndReason | undefined {
  const group = runners.filter(isBeforePoststop);
  const live = group.filter((r) => !isDead(r));
  if (live.length === 0) return undefined;
  if (group.some((r) => r.isLeader && isDead(r))) return { kind: "leader" };
  const failed = group.find((r) => isDead(r) && r.record.state.Failed);
  if (failed !== undefined) return { kind: "sibling", task: failed.name };
  return live.every((r) => r.lifecycle?.sidecar === true) ? { kind: "main" } : undefined;
}

/** The event that tells a task why it ends. */
export function reasonEvent(reason: EndReason): TaskEventInput {
  switch (reason.kind) {
    case "sibling":
      return { type: TASK_EVENT.siblingFailed, facts: { sibling: reason.task } };
    case "leader":
      return { type: TASK_EVENT.leaderDead };
    case "main":
      return { type: TASK_EVENT.mainTasksDead };
  }
}

export interface KillOrder {
  readonly runners: readonly TaskRunner[];
  readonly maxRunExceeded: boolean;
  /** The leader has ended and others live: they are told before they are stopped. */
  readonly onLeaderDead: () => void;
}

/** Ends all tasks in Nomad's order, each step waiting for the one before: leader, others, sidecars. Poststop tasks start then. */
export async function killInOrder(order: KillOrder): Promise<void> {
  const { runners, maxRunExceeded, onLeaderDead } = order;
  const kill = (chosen: readonly TaskRunner[]): Promise<unknown> =>
    Promise.all(chosen.map((runner) => runner.kill(killingEvent(runner, maxRunExceeded))));
  const group = runners.filter(isBeforePoststop);
  // They must not start at all then.
  if (maxRunExceeded) await kill(runners.filter((r) => !isBeforePoststop(r)));
  const leaders = group.filter((r) => r.isLeader);
  if (leaders.length > 0) {
    await kill(leaders);
    onLeaderDead();
  }
  const others = group.filter((r) => !r.isLeader);
  await kill(others.filter((r) => r.lifecycle?.sidecar !== true));
  await kill(others.filter((r) => r.lifecycle?.sidecar === true));
}

function killingEvent(runner: TaskRunner, maxRunExceeded: boolean): TaskEventInput {
  const killTimeoutNs = msToNs(killTimeoutMs(runner.context));
  const facts = maxRunExceeded ? { killTimeoutNs, message: MAX_RUN_EXCEEDED } : { killTimeoutNs };
  return { type: TASK_EVENT.killing, facts };
}
