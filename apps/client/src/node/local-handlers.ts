import { taskLogs } from "@outrider/allocdir-interface";
import type { AllocDir } from "@outrider/allocdir-interface";
import type { AllocRunner } from "@outrider/alloc-runner";
import { isPauseRequest } from "@outrider/alloc-runner";
import type { Clock } from "@outrider/backoff";
import { TASK_EVENT } from "@outrider/nomad-structs";
import { checkResultsOf } from "../alloc/checks/check-results.ts";
import type { AllocRegistry } from "./alloc-registry.ts";
import type { ClientGc } from "./client-gc.ts";
import type { HostStatsSampler } from "./host-stats.ts";
import { nodeError, unknownAlloc } from "./node-error.ts";
import type { NodeHandlers } from "./node-handlers.ts";

interface HandlerDeps {
  readonly registry: AllocRegistry;
  readonly gc: ClientGc;
  readonly hostStats: HostStatsSampler;
  readonly clock: Clock;
}

/** What servers and the HTTP API may ask of this node, answered by its runners. */
export function createLocalHandlers(deps: HandlerDeps): NodeHandlers {
  const runnerOf = (id: string): AllocRunner<AllocDir> => {
    const runner = deps.registry.get(id);
    if (runner === undefined || runner.isDestroyed()) throw unknownAlloc(id);
    return runner;
  };
  return {
    hasAlloc: (id) => deps.registry.get(id) !== undefined,
    allocStats: async (id, task) => runnerOf(id).statsReporter().latestAllocStats(task),
    hostStats: () => deps.hostStats.sample(),
    signal: async (id, task, signal) => runnerOf(id).signal(task, signal),
    restart: async (id, o) => {
      const runner = runnerOf(id);
      if (o.allTasks && o.task !== "")
        throw nodeError("ERR_OUTRIDER_NODE_INVALID", "task name cannot be set when restarting all tasks", {
          alloc: id,
          task: o.task,
        });
      if (o.allTasks) await runner.restartAll(restartEvent("User requested all tasks to restart"));
      else if (o.task === "") await runner.restartRunning(restartEvent("User requested running tasks to restart"));
      else await runner.restartTask(o.task, restartEvent("User requested task to restart"));
    },
    setPause: async (id, task, state) => {
      if (!isPauseRequest(state))
        throw nodeError("ERR_OUTRIDER_NODE_INVALID", "not a valid task schedule state", { alloc: id, state });
      await runnerOf(id).setTaskPauseState(task, state);
    },
    getPause: async (id, task) => runnerOf(id).getTaskPauseState(task),
    checks: async (id) => checkResultsOf(runnerOf(id)),
    allocFs: (id) => runnerOf(id).getAllocDir(),
    logs: (id, o, signal) => {
      const runner = runnerOf(id);
      checkStarted(runner, o.task, " No logs available");
      return taskLogs(runner.getAllocDir(), o, { signal, clock: deps.clock });
    },
    exec: (id, { task, command, tty }, input, signal) => {
      const runner = runnerOf(id);
      checkStarted(runner, task, "");
      const run = runner.taskExecHandler(task);
      if (run === undefined)
        throw nodeError("ERR_OUTRIDER_NODE_NOT_RUNNING", `task ${JSON.stringify(task)} is not running.`, { task });
      return run({ command, tty }, input, signal);
    },
    collectGarbage: async (id) => {
      if (id === undefined) await deps.gc.collectAll();
      else if (deps.gc.isEligible(id)) await deps.gc.remove(id);
      else
        throw nodeError(
          "ERR_OUTRIDER_NODE_NOT_ELIGIBLE",
          "No such allocation on client, or allocation not eligible for GC",
          { alloc: id },
        );
    },
  };
}

function restartEvent(reason: string): { type: typeof TASK_EVENT.restartSignaled; facts: { reason: string } } {
  return { type: TASK_EVENT.restartSignaled, facts: { reason } };
}

function checkStarted(runner: AllocRunner<AllocDir>, task: string, more: string): void {
  const alloc = runner.alloc();
  const group = alloc.Job?.TaskGroups?.find((g) => g.Name === alloc.TaskGroup);
  if (!(group?.Tasks ?? []).some((t) => t.Name === task))
    throw nodeError("ERR_OUTRIDER_NODE_UNKNOWN_TASK", `unknown task name ${JSON.stringify(task)}`, { task });
  const state = runner.allocState().taskStates[task];
  if (state === undefined || state.StartedAt === null)
    throw nodeError("ERR_OUTRIDER_NODE_NOT_STARTED", `task ${JSON.stringify(task)} not started yet.${more}`, { task });
}
