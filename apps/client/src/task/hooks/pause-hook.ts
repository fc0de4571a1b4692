import type { TaskHook } from "@outrider/alloc-runner";
import { TASK_EVENT } from "@outrider/nomad-structs";
import type { PauseController } from "../pause/pause-controller.ts";
import { scheduleOf } from "../pause/schedule-source.ts";
import { findTask } from "../task-lookup.ts";
import { messageOf, TaskSetupError } from "../task-hook-failure.ts";

/** Keeps the task's pause gate up to date with its schedule; the gate itself is a part of the run loop. */
export function pauseHook(task: string, pause: PauseController): TaskHook {
  return {
    name: "pause",
    prestart(request) {
      try {
        pause.setSchedule(scheduleOf(request.task));
      } catch (cause) {
        const error = messageOf(cause);
        throw new TaskSetupError(error, { type: TASK_EVENT.failedValidation, facts: { error } }, { cause });
      }
    },
    update({ alloc }) {
      const updated = findTask(alloc, task);
      if (updated !== undefined) pause.setSchedule(scheduleOf(updated));
    },
  };
}
