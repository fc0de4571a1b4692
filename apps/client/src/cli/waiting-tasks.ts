import { parseSchedule } from "@outrider/cron-schedule";
import type { JobInput } from "@outrider/nomad-structs";
import { instant, until } from "./format.ts";
import type { DeploymentView } from "./views.ts";

/** A task that does not run now because its window is closed. */
export interface WaitingTask {
  readonly group: string;
  readonly task: string;
  /** When its window opens, epoch ms; undefined: never again. */
  readonly opensMs: number | undefined;
}

/** The tasks of a job that are outside of their window. Schedules that cannot be read are the server's to refuse. */
export function waitingTasks(job: JobInput, nowMs: number): WaitingTask[] {
  return (job.TaskGroups ?? []).flatMap((group) =>
    (group.Tasks ?? []).flatMap((task) => {
      const cron = task.Schedule?.Cron;
      if (!cron) return [];
      try {
        const { inWindow, nextStart } = parseSchedule({
          start: cron.Start ?? "",
          end: cron.End ?? "",
          ...(cron.Timezone ? { timezone: cron.Timezone } : {}),
        }).evaluate(nowMs);
        return inWindow ? [] : [{ group: group.Name ?? "", task: task.Name ?? "", opensMs: nextStart?.getTime() }];
      } catch {
        return [];
      }
    }),
  );
}

/** Tells the one who watches a deployment why it does not go on, how long that takes, and how to leave. */
export function waitingLines(waiting: readonly WaitingTask[], deployment: DeploymentView, nowMs: number): string[] {
  const lines = waiting.map(({ group, task, opensMs }) => {
    const when =
      opensMs === undefined ? "never opens again" : `opens at ${instant(opensMs * 1e6)} (${until(opensMs, nowMs)})`;
    return `Task "${task}" of group "${group}" waits for its window, which ${when}; it is not healthy before`;
  });
  const late = waiting.some(({ group, opensMs }) => {
    const deadline = Date.parse(deployment.TaskGroups?.[group]?.RequireProgressBy ?? "");
    return opensMs === undefined || opensMs >= (deadline > 0 ? deadline : Number.POSITIVE_INFINITY);
  });
  if (late)
    lines.push(
      "The deployment fails at its progress deadline, which is earlier; the job stays. Without health to wait for: update { max_parallel = 0 }",
    );
  lines.push("Ctrl-C ends only this display, the job stays; job run -detach does not wait at all");
  return lines;
}
