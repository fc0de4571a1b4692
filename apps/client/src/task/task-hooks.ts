import type { TaskHook } from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import { artifactsHook } from "./hooks/artifacts-hook.ts";
import { dispatchPayloadHook } from "./hooks/dispatch-payload-hook.ts";
import { logmonHook } from "./hooks/logmon-hook.ts";
import { pauseHook } from "./hooks/pause-hook.ts";
import { taskServicesHook } from "./hooks/task-services-hook.ts";
import { templateHook } from "./hooks/template-hook.ts";
import { taskDirHook } from "./hooks/task-dir-hook.ts";
import { validateHook } from "./hooks/validate-hook.ts";
import type { Capabilities } from "@outrider/plugin-driver";
import type { TaskContext } from "./task-context.ts";

/** What holds until the driver has come up; only stop hooks can run before. */
const UNKNOWN_DRIVER: Capabilities = {
  sendSignals: false,
  exec: false,
  fsIsolation: "none",
  networkIsolationModes: [],
  mustCreateNetwork: false,
  mountConfigs: "none",
  disableLogCollection: false,
  dynamicWorkloadUsers: false,
};

/** The hooks of a task in Nomad's order (client-runtime.md 4.2); only those that do something here. */
export function taskHooks(c: TaskContext, stats: TaskHook): readonly TaskHook<TaskDir>[] {
  const { config, alloc } = c;
  const capabilities = (): Capabilities => c.driver?.capabilities ?? UNKNOWN_DRIVER;
  return [
    validateHook(capabilities),
    taskDirHook(capabilities),
    logmonHook({ collector: config.logCollector, allocId: alloc.ID, task: () => c.task, capabilities }),
    dispatchPayloadHook(),
    artifactsHook(),
    stats,
    ...((c.task.Templates?.length ?? 0) === 0 ? [] : [templateOf(c)]),
    ...(c.services === undefined ? [] : [taskServicesHook(c.services, c.task.Name)]),
    pauseHook(c.task.Name, c.pause),
    ...(config.extraTaskHooks?.(c.task.Name) ?? []),
  ];
}

function templateOf({ config, control, logger }: TaskContext): TaskHook<TaskDir> {
  const { variables, clock, random = () => 0, region } = config;
  return templateHook({ variables, control, clock, random, region, logger });
}
