import type { TaskHook } from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import { RunSignals } from "./kill-signals.ts";
import { PauseController } from "./pause/pause-controller.ts";
import { PauseEffects } from "./pause/pause-effects.ts";
import { RestartTracker } from "./restart-tracker.ts";
import type { TaskContext, TaskControl, TaskRunnerParts } from "./task-context.ts";
import { TaskHookRunner } from "./task-hook-runner.ts";
import { restartRulesOf } from "./task-lookup.ts";
import { TaskStarter } from "./task-starter.ts";

/** Puts together what the parts of one task runner share. */
export function createTaskContext(
  parts: TaskRunnerParts,
  control: Omit<TaskControl, "isRunning">,
  hooks: (context: TaskContext) => readonly TaskHook<TaskDir>[],
): TaskContext {
  const { config, alloc, task, record, logger, env } = parts;
  const signals = new RunSignals();
  const { clock } = config;
  const pause = new PauseEffects(() => whole);
  const context: Omit<TaskContext, "hooks"> & { hooks?: TaskHookRunner } = {
    ...parts,
    signals,
    driver: undefined,
    live: undefined,
    control: { ...control, isRunning: () => whole.live !== undefined },
    tracker: new RestartTracker({
      ...restartRulesOf(alloc, task),
      nowMs: clock.now(),
      random: config.random ?? (() => 0),
    }),
    pause: new PauseController({
      clock,
      logger,
      record: (step) => pause.record(step),
      stop: () => pause.stop(),
    }),
    starter: new TaskStarter({
      driver: task.Driver,
      drivers: config.drivers,
      record,
      logger,
      clock,
      signal: signals.shutdown,
    }),
  };
  const whole = context as TaskContext;
  context.hooks = new TaskHookRunner({
    hooks: hooks(whole),
    record,
    logger,
    taskDir: parts.taskDir,
    alloc: () => whole.alloc,
    task: () => whole.task,
    env: () => env.view(),
    setHookEnv: (hook, values) => env.setHook(hook, values),
    telemetry: config.telemetry,
  });
  return whole;
}
