import { sleep } from "@outrider/backoff";
import { nsToMs, TASK_EVENT } from "@outrider/nomad-structs";
import type { ExitResult } from "@outrider/plugin-driver";
import type { DriverTask } from "./driver/driver-task.ts";
import type { TaskContext } from "./task-context.ts";

/** How long a task may take to end after its signal. */
export function killTimeoutMs(c: Pick<TaskContext, "task" | "config">): number {
  return Math.min(nsToMs(c.task.KillTimeout), c.config.limits.maxKillTimeoutMs);
}

/**
 * Ends a running task for good: prekilling hooks, shutdown delay, signal, force. Gives its result and, if the driver never agreed to stop
 * it, why. Rejects only when the agent lets go.
 */
export async function killTask(
  c: TaskContext,
  live: DriverTask,
): Promise<{ result: ExitResult; error: Error | undefined }> {
  await c.hooks.preKilling();
  await shutdownDelay(c, live, c.signals.shutdown);
  const error = live.result === undefined ? await live.stop(killTimeoutMs(c), c.task.KillSignal) : undefined;
  return { result: await live.exit, error };
}

/** Stops a task that will start again; a kill that comes in between takes over. Resolves when the task has ended. */
export async function stopForRestart(c: TaskContext, live: DriverTask, o: { readonly delay: boolean }): Promise<void> {
  await c.hooks.preKilling();
  if (o.delay) await shutdownDelay(c, live, c.signals.either);
  if (c.signals.either.aborted) return;
  await live.stop(killTimeoutMs(c), c.task.KillSignal);
  await live.exit;
}

/** Waits `shutdown_delay`, or until the task ends, the delay is called off, or `signal` aborts. The task counts as pending meanwhile. */
async function shutdownDelay(c: TaskContext, live: DriverTask, signal: AbortSignal): Promise<void> {
  const delayNs = c.task.ShutdownDelay;
  if (delayNs <= 0 || live.result !== undefined || signal.aborted) return;
  const skip = c.skipShutdownDelay;
  const type = skip.aborted ? TASK_EVENT.skippingShutdownDelay : TASK_EVENT.waitingShutdownDelay;
  c.record.enter("pending", { type, facts: { shutdownDelayNs: delayNs } });
  if (skip.aborted) return;
  const cancel = new AbortController();
  const timer = sleep(nsToMs(delayNs), {
    clock: c.config.clock,
    signal: AbortSignal.any([cancel.signal, skip, signal]),
  }).catch(() => undefined);
  await Promise.race([timer, live.exit.catch(() => undefined)]);
  cancel.abort();
}
