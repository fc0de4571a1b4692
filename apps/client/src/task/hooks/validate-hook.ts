import type { TaskHook } from "@outrider/alloc-runner";
import { TASK_EVENT } from "@outrider/nomad-structs";
import type { Capabilities } from "@outrider/plugin-driver";
import { TaskSetupError } from "../task-hook-failure.ts";

/** Names become folder names: one plain printable path segment, also when a server let another through. */
const PLAIN_NAME = /^(?!\.{1,2}$)[^/\\\p{C}]{1,128}$/u;

/** Refuses what must never reach the disk or a driver. */
export function validateHook(capabilities: Capabilities): TaskHook {
  return {
    name: "validate",
    prestart({ task }) {
      if (!PLAIN_NAME.test(task.Name)) {
        throw invalid(`task name ${JSON.stringify(task.Name)} is not one plain path segment`);
      }
      if (capabilities.fsIsolation === "chroot") {
        throw invalid(`driver ${JSON.stringify(task.Driver)} needs a chroot, which this client does not build`);
      }
      return { done: true };
    },
  };
}

function invalid(error: string): TaskSetupError {
  return new TaskSetupError(error, { type: TASK_EVENT.failedValidation, facts: { error } });
}
