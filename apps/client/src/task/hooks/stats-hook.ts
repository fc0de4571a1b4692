import type { TaskHook } from "@outrider/alloc-runner";
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { TaskResourceUsage } from "@outrider/nomad-structs";
import { StatsHook } from "@outrider/stats-hook";

export interface TaskStatsHookOptions {
  readonly intervalMs: number;
  readonly collect: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Samples the task's usage while it runs; the last sample stays readable after its end. */
export function taskStatsHook(options: TaskStatsHookOptions): TaskHook & { latest(): TaskResourceUsage | undefined } {
  const stats = new StatsHook<TaskResourceUsage>({
    update: () => undefined,
    interval: options.intervalMs,
    collect: options.collect,
    clock: options.clock,
    logger: options.logger,
  });
  return {
    name: "stats_hook",
    poststart: (request) => stats.poststart({ stats: request.stats }),
    exited: () => stats.exited(),
    shutdown: () => stats.shutdown(),
    latest: () => stats.latest()?.sample,
  };
}
