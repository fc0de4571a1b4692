import type { TaskHook } from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import { TASK_EVENT } from "@outrider/nomad-structs";
import type { Capabilities } from "@outrider/plugin-driver";

/** Builds the task's folder once; the secrets folders are looked after before every start, since they may be gone after a reboot. */
export function taskDirHook(capabilities: () => Capabilities): TaskHook<TaskDir> {
  return {
    name: "task_dir",
    async prestart({ taskDir, previousState, emit }) {
      if (previousState["is_done"] !== "true") {
        emit({ type: TASK_EVENT.taskSetup });
        await taskDir.build({ isolation: capabilities().fsIsolation });
      } else {
        await taskDir.makeSecretsDirs();
      }
      return { state: { is_done: "true" } };
    },
  };
}
