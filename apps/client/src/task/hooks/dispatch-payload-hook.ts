import path from "node:path";
import type { TaskHook } from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import { createFileBelow } from "@outrider/allocdir-interface/local";
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
      // The folder may have been another allocation's, and hold whatever links its tasks left there.
      await using file = await createFileBelow(taskDir.localDir, path.relative(taskDir.localDir, target), {
        mode: 0o644,
      });
      await file.handle.writeFile(Buffer.from(payload, "base64"));
      await file.commit();
      return { done: true };
    },
  };
}
