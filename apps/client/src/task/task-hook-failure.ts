import type { TaskEventInput } from "@outrider/alloc-runner";
import { isOutriderError, OutriderError } from "@outrider/foundation";

/** A failure before a task runs that brings the event which tells it. */
export class TaskSetupError extends OutriderError {
  override readonly name: string = "TaskSetupError";
  readonly taskEvent: TaskEventInput;

  constructor(
    message: string,
    taskEvent: TaskEventInput,
    options: { readonly cause?: unknown; readonly recoverable?: boolean } = {},
  ) {
    super("ERR_OUTRIDER_TASK_SETUP", message, options);
    this.taskEvent = taskEvent;
  }
}

/** The event that an error brings, if any. */
export function carriedEvent(error: unknown): TaskEventInput | undefined {
  if (typeof error !== "object" || error === null || !("taskEvent" in error)) return undefined;
  return error.taskEvent as TaskEventInput;
}

/** Whether trying again may help; only an error that says so. */
export function isRecoverable(error: unknown): boolean {
  return isOutriderError(error) && error.recoverable;
}

/** The words of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
