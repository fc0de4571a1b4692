import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { TaskHook } from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import { TASK_EVENT } from "@outrider/nomad-structs";
import { TaskSetupError } from "../task-hook-failure.ts";

/** Puts the payload of a dispatched job into the task's folder. */
export function dispatchPayloadHook(): TaskHook<TaskDir> {
  return {
    name: "dispatch_payload",
    async prestart({ alloc, task, taskDir }) {
      const payload = alloc.Job?.Payload ?? "";
      if (task.DispatchPayload === null || task.DispatchPayload.File === "" || payload === "") return { done: true };
      const target = path.join(taskDir.localDir, task.DispatchPayload.File);
      if (!target.startsWith(`${taskDir.localDir}${path.sep}`)) {
        const error = `dispatch_payload file ${JSON.stringify(task.DispatchPayload.File)} escapes the task's folder`;
        throw new TaskSetupError(error, { type: TASK_EVENT.failedValidation, facts: { error } });
      }
      await mkdir(path.dirname(target), { recursive: true, mode: 0o777 });
      await writeFile(target, Buffer.from(payload, "base64"), { mode: 0o666 });
      return { done: true };
    },
  };
}
