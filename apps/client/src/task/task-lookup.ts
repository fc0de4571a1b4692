import {
  isClientTerminal,
  isServerTerminal,
  type Allocation,
  type Task,
  type TaskGroup,
} from "@outrider/nomad-structs";
import type { RestartPolicy, RestartRules } from "./restart-tracker.ts";

const NO_RESTARTS: RestartPolicy = { Attempts: 0, Interval: 0, Delay: 0, Mode: "fail" };

/** The allocation's group in its job. */
export function findGroup(alloc: Allocation): TaskGroup | undefined {
  return alloc.Job?.TaskGroups?.find((group) => group.Name === alloc.TaskGroup);
}

/** A task of the allocation's group. */
export function findTask(alloc: Allocation, name: string): Task | undefined {
  return findGroup(alloc)?.Tasks?.find((task) => task.Name === name);
}

/** A task's lifecycle; undefined for a main task. */
export function lifecycleOf(task: Task): { readonly hook: string; readonly sidecar: boolean } | undefined {
  const { Lifecycle: block } = task;
  return block === null || block.Hook === "" ? undefined : { hook: block.Hook, sidecar: block.Sidecar };
}

/** Whether the allocation has ended, or is to end, as far as a task is concerned: poststop tasks run when the server has ended it. */
export function isAllocOver(alloc: Allocation, task: Task): boolean {
  if (isClientTerminal(alloc.ClientStatus)) return true;
  return lifecycleOf(task)?.hook !== "poststop" && isServerTerminal(alloc.DesiredStatus);
}

/** What decides on a task's restarts: its own policy, else its group's. */
export function restartRulesOf(alloc: Allocation, task: Task): RestartRules {
  const policy = task.RestartPolicy ?? findGroup(alloc)?.RestartPolicy ?? NO_RESTARTS;
  return { policy, jobType: alloc.Job?.Type ?? "", lifecycle: lifecycleOf(task) };
}

/** The id of one start: `<alloc id>/<task>/<8 hex digits>`. */
export function newTaskId(allocId: string, task: string, random: () => number): string {
  const suffix = Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, "0");
  return `${allocId}/${task}/${suffix}`;
}
