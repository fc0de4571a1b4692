import { isPaused, type TaskPauseState } from "@outrider/nomad-structs";

/** Who changed a pause state. */
export type PauseCause = "schedule" | "override";

/** Something that may change a pause state: an edge of the window, or a request. `scheduled` goes back to the schedule. */
export type PauseInput = "window-opens" | "window-closes" | "pause" | "run" | "scheduled";

/** What a transition asks for: stop the process, let the gate open, or nothing. */
export interface PauseStep {
  readonly to: Exclude<TaskPauseState, "schedule_resume">;
  readonly action: "stop" | "open" | "none";
  readonly event?: { readonly kind: "pausing" | "running"; readonly cause: PauseCause };
}

type Settled = PauseStep["to"];

const pausing = (cause: PauseCause): NonNullable<PauseStep["event"]> => ({ kind: "pausing", cause });
const running = (cause: PauseCause): NonNullable<PauseStep["event"]> => ({ kind: "running", cause });

/**
 * The table R-13 (cron-schedule.md 8). `inside` is whether the window is open now; a task without a schedule is always inside.
 * A leftover `schedule_resume` counts as the schedule's own state.
 */
export function pauseTransition(from: TaskPauseState, input: PauseInput, inside: boolean): PauseStep {
  const state: Settled = from === "schedule_resume" ? "" : from;
  switch (input) {
    case "pause":
      if (state === "force_pause") return stay(state);
      return { to: "force_pause", action: isPaused(state) ? "none" : "stop", event: pausing("override") };
    case "run":
      if (state === "force_run") return stay(state);
      return { to: "force_run", action: isPaused(state) ? "open" : "none", event: running("override") };
    case "scheduled":
      return backToSchedule(state, inside);
    case "window-opens":
      return state === "scheduled_pause" ? { to: "", action: "open", event: running("schedule") } : stay(state);
    case "window-closes":
      return state === "" ? { to: "scheduled_pause", action: "stop", event: pausing("schedule") } : stay(state);
  }
}

function backToSchedule(state: Settled, inside: boolean): PauseStep {
  if (state === "" || state === "scheduled_pause") return stay(state);
  if (inside) return { to: "", action: isPaused(state) ? "open" : "none", event: running("schedule") };
  return { to: "scheduled_pause", action: isPaused(state) ? "none" : "stop", event: pausing("schedule") };
}

function stay(state: Settled): PauseStep {
  return { to: state, action: "none" };
}
