import type { TaskPauseState } from "@outrider/nomad-structs";

/** What may be asked of a task: force a pause, force a run, or go back to the schedule (`schedule_resume`, or the empty word). @public */
export type PauseRequest = Exclude<TaskPauseState, "scheduled_pause">;

const REQUESTS: readonly string[] = ["", "force_run", "force_pause", "schedule_resume"];

/** Whether a foreign word is a request that {@link AllocRunner.setTaskPauseState} takes. @public */
export function isPauseRequest(word: string): word is PauseRequest {
  return REQUESTS.includes(word);
}
