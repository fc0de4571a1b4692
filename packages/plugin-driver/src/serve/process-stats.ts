/** Usage of a task that is one process with all that descends from it. */
import { type Clock, onAbort } from "@outrider/backoff";
import { createSampler, type Sampler } from "@outrider/stats-hook/sampler";
import type { TaskResourceUsage } from "@outrider/nomad-structs";
import { RecoverableError } from "../contract/errors.ts";
import type { ProcessIdentity } from "../process/process-identity.ts";

/** Shortest interval that is served. */
const MIN_INTERVAL_MS = 100;

/** One for all tasks of a clock: it reads the machine's processes once for all of them. */
const samplers = new WeakMap<Clock, Sampler>();

/** The first sample at once, then one per interval until the process is gone or `signal` aborts. A slow reader gets the latest. */
export async function* processStats(
  { pid, startTime }: ProcessIdentity,
  intervalMs: number,
  signal: AbortSignal,
  clock: Clock,
): AsyncGenerator<TaskResourceUsage> {
  const sampler = samplers.get(clock) ?? createSampler({ clock });
  samplers.set(clock, sampler);
  let latest: TaskResourceUsage | undefined;
  let over: { readonly reason?: unknown } | undefined;
  let wake: (() => void) | undefined;
  const end = (reason?: unknown): void => {
    over ??= { reason };
    wake?.();
  };
  const source = sampler.source({ id: String(pid), pid, startTime: Number(startTime) });
  const stop = await source.subscribe(
    {
      next: ({ ResourceUsage, Timestamp, Pids }) => {
        latest = { ResourceUsage, Timestamp: Number(Timestamp), Pids };
        wake?.();
      },
      end,
    },
    Math.max(MIN_INTERVAL_MS, intervalMs),
  );
  const forget = onAbort(signal, () => end());
  try {
    for (;;) {
      const usage = latest;
      latest = undefined;
      if (usage !== undefined) yield usage;
      else if (over !== undefined) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    const { reason } = over;
    if (reason === undefined) return;
    const why = reason instanceof Error ? reason.message : "the sampler gave up";
    throw new RecoverableError(`task stats: ${why}`, true, { cause: reason });
  } finally {
    forget();
    stop();
  }
}
