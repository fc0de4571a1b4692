import type { TaskHook } from "@outrider/alloc-runner";
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { TaskResourceUsage } from "@outrider/nomad-structs";
import { StatsHook } from "@outrider/stats-hook";

/** How long a task lives before its usage is asked for: one that ends at once is not worth a stream. */
const FIRST_SAMPLE_MS = 250;

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
  const { clock } = options;
  let soon: unknown;
  const cancel = (): void => {
    if (soon !== undefined) clock.clearTimeout(soon);
    soon = undefined;
  };
  return {
    name: "stats_hook",
    poststart: (request) => {
      cancel();
      soon = clock.setTimeout(() => {
        soon = undefined;
        stats.poststart({ stats: request.stats });
      }, FIRST_SAMPLE_MS);
    },
    exited: () => {
      cancel();
      return stats.exited();
    },
    shutdown: () => {
      cancel();
      return stats.shutdown();
    },
    latest: () => stats.latest()?.sample,
  };
}
