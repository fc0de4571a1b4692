import type { Allocation, Task, TaskGroup } from "@outrider/nomad-structs";
import type { RestartPolicy } from "./restart-tracker.ts";

const NO_RESTARTS: RestartPolicy = { Attempts: 0, Interval: 0, Delay: 0, Mode: "fail" };

/** The allocation's group in its job. */
export function findGroup(alloc: Allocation): TaskGroup | undefined {
  return alloc.Job?.TaskGroups?.find((group) => group.Name === alloc.TaskGroup);
}

/** A task of the allocation's group. */
export function findTask(alloc: Allocation, name: string): Task | undefined {
  return findGroup(alloc)?.Tasks?.find((task) => task.Name === name);
}

/** The task's restart policy, else its group's. */
export function restartPolicyOf(alloc: Allocation, task: Task): RestartPolicy {
  return task.RestartPolicy ?? findGroup(alloc)?.RestartPolicy ?? NO_RESTARTS;
}

/** The id of one start: `<alloc id>/<task>/<8 hex digits>`. */
export function newTaskId(allocId: string, task: string, random: () => number): string {
  const suffix = Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, "0");
  return `${allocId}/${task}/${suffix}`;
}
