import { TASK_EVENT } from "@outrider/nomad-structs";
import { settledBefore } from "./kill-signals.ts";
import type { TaskContext } from "./task-context.ts";
import { exitFacts } from "./task-life.ts";
import { isAllocOver } from "./task-lookup.ts";
import { killTask } from "./task-stopper.ts";

/** Finds the task of a former process again. Waits for its driver, so that nothing is started beside it. */
export async function recoverTask(c: TaskContext): Promise<void> {
  const { record, starter, config, alloc, signals } = c;
  const wasRunning = record.local.handle !== undefined;
  c.live = await starter.recover();
  if (c.live !== undefined || !wasRunning || isAllocOver(c.alloc, c.task)) return;
  if (alloc.Job?.Type === "system") return record.enter("pending");
  // The machine may have been down for long: what ran then may run elsewhere now (hashicorp/nomad#1795).
  record.enter("pending", { type: TASK_EVENT.failedRestoring });
  if (config.serversContacted !== undefined) await settledBefore(config.serversContacted, signals.either);
}

/** Ends a restored task whose allocation has ended meanwhile. False at a shutdown. */
export async function stopLeftover(c: TaskContext): Promise<boolean> {
  const { live, record, hooks, signals } = c;
  if (live === undefined) return true;
  try {
    const { result } = await killTask(c, live);
    c.live = undefined;
    record.enter("dead", { type: TASK_EVENT.terminated, facts: exitFacts(result) });
    record.setLocal({ handle: undefined, network: undefined, ended: live.id });
    await hooks.exited();
    await record.flush();
    await live.destroy();
    if (signals.shutdown.aborted) return false;
    record.forgetEnded();
    return true;
  } catch {
    return !signals.shutdown.aborted;
  }
}
