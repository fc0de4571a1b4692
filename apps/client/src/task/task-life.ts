import type { TaskExecHandler, TaskPoststartRequest } from "@outrider/alloc-runner";
import { TASK_EVENT, type TaskEventFacts } from "@outrider/nomad-structs";
import { NotImplementedError, type ExitResult } from "@outrider/plugin-driver";
import { childSignal } from "../child-signal.ts";
import type { DriverTask } from "./driver/driver-task.ts";
import { settledBefore } from "./kill-signals.ts";
import type { DriverFacts, TaskContext } from "./task-context.ts";
import { makeTaskConfig } from "./task-config.ts";
import { isRecoverable, messageOf } from "./task-hook-failure.ts";
import { newTaskId } from "./task-lookup.ts";
import { killTask } from "./task-stopper.ts";

/** How a part of the run loop ended: start anew, stay dead, or let go. */
export type Outcome = "again" | "done" | "shutdown";

/** One life of a task: hooks, gate, start, wait, and the decision what follows. A restored task is taken up where it is. */
export async function runLife(c: TaskContext): Promise<Outcome> {
  const { signals, record } = c;
  const restored = c.live;
  try {
    await c.hooks.prestart(signals.either);
    if (restored === undefined) {
      await c.pause.gate(signals.either);
      await startTask(c);
    } else if (record.phase !== "running") {
      record.enter("running");
    }
  } catch (error) {
    if (signals.shutdown.aborted) return "shutdown";
    // A stop that was asked for is not a failure of what it interrupted.
    if (signals.kill.aborted && c.live === undefined) return "done";
    if (c.live === undefined) {
      c.tracker.setStartError({ recoverable: isRecoverable(error) });
      return decide(c, undefined);
    }
    if (!signals.kill.aborted) c.logger.error({ err: error }, "setup of a restored task failed; the task lives on");
  }
  return waitEnd(c, c.live as DriverTask);
}

async function startTask(c: TaskContext): Promise<void> {
  const { alloc, task, record, config } = c;
  const env = c.env.build();
  let driverConfig: Uint8Array;
  try {
    const { schema } = c.driver as DriverFacts;
    driverConfig = config.encodeDriverConfig(schema, task.Config ?? {}, () => env.nested());
  } catch (cause) {
    record.append({ type: TASK_EVENT.failedValidation, facts: { error: messageOf(cause) } });
    throw cause;
  }
  c.live = await c.starter.start(
    makeTaskConfig({
      id: newTaskId(alloc.ID, task.Name, config.random ?? (() => 0)),
      alloc,
      task,
      node: config.node(),
      taskDir: c.taskDir,
      env,
      driverConfig,
      mounts: c.hooks.mounts,
      devices: c.hooks.devices,
      networkDns: c.networkDns(),
    }),
    c.signals.either,
  );
  c.env.setDriverNetwork(record.local.network);
}

async function waitEnd(c: TaskContext, live: DriverTask): Promise<Outcome> {
  const { signals, hooks, record } = c;
  const watching = childSignal(signals.either);
  const watch = c.pause.watch(watching.signal);
  const poststart = hooks.poststart(poststartRequest(c, live));
  let result: ExitResult;
  let killError: Error | undefined;
  try {
    const exit = live.exit;
    if (await settledBefore(exit, signals.either)) result = await exit;
    else if (signals.shutdown.aborted) return "shutdown";
    else ({ result, error: killError } = await killTask(c, live));
  } catch {
    return "shutdown";
  } finally {
    watching.end();
  }
  await watch;
  // The end, its event and what follows are one change set: a crash before it repeats all of it, a crash after it none.
  c.live = undefined;
  record.append({ type: TASK_EVENT.terminated, facts: exitFacts(result) });
  record.setLocal({ handle: undefined, network: undefined, ended: live.id });
  if (result.oomKilled) c.config.counters?.count("oom_killed", c.task.Name);
  c.tracker.setExit(result);
  if (signals.kill.aborted) c.tracker.setKilled();
  const outcome = decide(c, killError);
  await poststart;
  await hooks.exited();
  await record.flush();
  // Only now may the driver forget the result.
  await live.destroy();
  if (signals.shutdown.aborted) return "shutdown";
  record.forgetEnded();
  return outcome;
}

function decide(c: TaskContext, killError: Error | undefined): Outcome {
  const { record, tracker, config } = c;
  const now = config.clock.now();
  const decision = tracker.next(now);
  record.setLocal({ restart: tracker.count });
  switch (decision.kind) {
    case "killed":
      record.enter("dead", {
        type: TASK_EVENT.killed,
        facts: killError === undefined ? {} : { error: killError.message },
      });
      return "done";
    case "terminated":
      record.enter("dead");
      return "done";
    case "not-restarting":
      record.enter("dead", { type: TASK_EVENT.notRestarting, facts: { reason: decision.reason } });
      return "done";
    case "restarting": {
      const { delayNs, reason } = decision;
      const delayMs = delayNs / 1e6;
      record.enter("pending", { type: TASK_EVENT.restarting, facts: { startDelayNs: delayNs, reason } });
      if (delayNs > 0) record.setLocal({ pendingRestart: { atMs: now + delayMs, delayMs } });
      return "again";
    }
  }
}

function poststartRequest(c: TaskContext, live: DriverTask): TaskPoststartRequest {
  const { network } = c.record.local;
  return {
    env: c.env.view(),
    stats: (signal, intervalMs) => live.plugin.taskStats(live.id, intervalMs, signal),
    exec: execHandler(live),
    ...(network === undefined ? {} : { network }),
  };
}

/** Runs commands inside a live task. */
export function execHandler(live: DriverTask): TaskExecHandler {
  return (request, input, signal) => {
    const { plugin } = live;
    if (plugin.execTaskStreaming === undefined) throw new NotImplementedError("exec");
    return plugin.execTaskStreaming(live.id, request, input, signal);
  };
}

/** An exit result as the facts of a `Terminated` event. */
export function exitFacts(r: ExitResult): TaskEventFacts {
  return { exitCode: r.exitCode, signal: r.signal, oomKilled: r.oomKilled, exitMessage: r.error ?? "" };
}
