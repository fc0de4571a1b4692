import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { TASK_EVENT, timeMs } from "@outrider/nomad-structs";
import type { TaskRunner } from "../../task/task-runner.ts";
import { AllocChecks } from "./alloc-checks.ts";
import type { Probe } from "./probe.ts";

/** The checks of an allocation, tied to its tasks: a failing one restarts them under their restart policies. */
export function checksOfTasks(o: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tasks: () => readonly TaskRunner[];
  readonly probe?: Probe;
}): AllocChecks {
  const { clock, logger } = o;
  const chosen = (task: string): readonly TaskRunner[] =>
    o.tasks().filter((runner) => runner.record.phase === "running" && (task === "" || runner.name === task));
  const since = new Map<string, { readonly startedAt: string; readonly at: number }>();
  /** The start on the monotonic clock; also for tasks that an earlier process started. */
  const startOf = (runner: TaskRunner): number => {
    const startedAt = runner.record.state.StartedAt ?? "";
    const known = since.get(runner.name);
    if (known?.startedAt === startedAt) return known.at;
    const at = clock.monotonic() - Math.max(0, clock.now() - (timeMs(startedAt) ?? clock.now()));
    since.set(runner.name, { startedAt, at });
    return at;
  };
  return new AllocChecks({
    clock,
    logger,
    ...(o.probe === undefined ? {} : { probe: o.probe }),
    runningSince: (task) => {
      const starts = chosen(task).map(startOf);
      return starts.length === 0 ? undefined : Math.max(...starts);
    },
    restart: async (task, reason) => {
      await Promise.all(
        chosen(task).map((runner) =>
          runner.restart({ type: TASK_EVENT.restartSignaled, facts: { reason } }, { failure: true }),
        ),
      );
    },
  });
}
