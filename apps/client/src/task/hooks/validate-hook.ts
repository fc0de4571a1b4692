import type { TaskHook } from "@outrider/alloc-runner";
import { TASK_EVENT } from "@outrider/nomad-structs";
import type { Capabilities } from "@outrider/plugin-driver";
import { TaskSetupError } from "../task-hook-failure.ts";

/** Refuses what must never reach the disk or a driver. Names were checked when the task's folder was registered. */
export function validateHook(capabilities: () => Capabilities): TaskHook {
  return {
    name: "validate",
    prestart({ task }) {
      if (capabilities().fsIsolation === "chroot") {
        throw invalid(`driver ${JSON.stringify(task.Driver)} needs a chroot, which this client does not build`);
      }
      return { done: true };
    },
  };
}

function invalid(error: string): TaskSetupError {
  return new TaskSetupError(error, { type: TASK_EVENT.failedValidation, facts: { error } });
}
