/**
 * Wire words of a task's pause state. Empty: run as the schedule (if any) says. `schedule_resume` is transient: an override is being removed.
 * @public
 */
export type PauseState = "" | "force_run" | "scheduled_pause" | "force_pause" | "schedule_resume";

/** What may be asked of a task: force a pause, force a run, or go back to the schedule (`schedule_resume`, or the empty word). @public */
export type PauseRequest = "" | "force_run" | "force_pause" | "schedule_resume";

const REQUESTS: readonly string[] = ["", "force_run", "force_pause", "schedule_resume"];

/** Whether a foreign word is a request that {@link AllocRunner.setTaskPauseState} takes. @public */
export function isPauseRequest(word: string): word is PauseRequest {
  return REQUESTS.includes(word);
}

/** Whether a task in this state must not run. @public */
export function isPaused(state: string | undefined): boolean {
  return state === "scheduled_pause" || state === "force_pause";
}
