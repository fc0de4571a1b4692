/** Usage of tasks, by cgroup where there is one, else by their processes. */
import { type Clock, onAbort } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { RecoverableError, type TaskResourceUsage } from "@outrider/plugin-driver";
import { createSampler, type Sampler, type SampleTarget, type TaskUsage } from "@outrider/stats-hook/sampler";
import { UNKNOWN_START } from "./identity.ts";
import type { TaskRecord } from "./task-record.ts";

/** Shortest interval that is served. */
const MIN_INTERVAL_MS = 100;

/** Hands out the samples of one sampler for all tasks. */
export class TaskStats {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #sampler: Sampler | undefined;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The first sample at once, then one per interval, until the task ends or the signal aborts. A slow reader gets the latest one. */
  async *stream(record: TaskRecord, intervalMs: number, signal: AbortSignal): AsyncGenerator<TaskResourceUsage> {
    const target = targetOf(record);
    if (target === undefined || record.hasEnded) return;
    this.#sampler ??= createSampler({ clock: this.#clock, logger: this.#logger });
    let latest: TaskResourceUsage | undefined;
    let over = false;
    let failure: unknown;
    let wake: (() => void) | undefined;
    const end = (reason?: unknown): void => {
      over = true;
      failure = reason;
      wake?.();
    };
    const next = ({ ResourceUsage, Timestamp, Pids }: TaskUsage): void => {
      latest = { ResourceUsage, Timestamp: Number(Timestamp), Pids };
      wake?.();
    };
    const stop = await this.#sampler.source(target).subscribe({ next, end }, Math.max(MIN_INTERVAL_MS, intervalMs));
    const forget = onAbort(signal, () => end());
    void record.wait(signal).then(
      () => end(),
      () => end(),
    );
    try {
      for (;;) {
        const usage = latest;
        latest = undefined;
        if (usage !== undefined) yield usage;
        else if (over) break;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
      if (failure !== undefined && !record.hasEnded) throw asStatsFailure(failure);
    } finally {
      forget();
      stop();
    }
  }
}

function targetOf({ meta, task }: TaskRecord): SampleTarget | undefined {
  const { group } = meta;
  const cgroup =
    group.mode === "v2" && group.members !== undefined
      ? { unified: group.members }
      : group.memory !== undefined && group.cpuacct !== undefined
        ? { memory: group.memory, cpuacct: group.cpuacct }
        : undefined;
  const process =
    task === undefined || task.startTime === UNKNOWN_START ? {} : { pid: task.pid, startTime: Number(task.startTime) };
  if (cgroup === undefined && task === undefined) return undefined;
  return { id: meta.id, ...process, ...(cgroup === undefined ? {} : { cgroup }) };
}

function asStatsFailure(reason: unknown): Error {
  if (reason instanceof Error && (reason as { recoverable?: unknown }).recoverable !== undefined) return reason;
  return new RecoverableError(reason instanceof Error ? reason.message : String(reason), true, { cause: reason });
}
