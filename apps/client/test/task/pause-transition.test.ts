import type { TaskPauseState } from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import { pauseTransition, type PauseInput } from "../../src/task/pause/pause-transition.ts";

type Row = [from: TaskPauseState, input: PauseInput, inside: boolean, to: string, action: string, event: string];

/** Table R-13, plus the rows that change nothing. */
const ROWS: Row[] = [
  ["", "window-closes", false, "scheduled_pause", "stop", "pausing schedule"],
  ["", "window-opens", true, "", "none", ""],
  ["", "pause", true, "force_pause", "stop", "pausing override"],
  ["", "run", true, "force_run", "none", "running override"],
  ["", "scheduled", true, "", "none", ""],
  ["scheduled_pause", "window-opens", true, "", "open", "running schedule"],
  ["scheduled_pause", "window-closes", false, "scheduled_pause", "none", ""],
  ["scheduled_pause", "run", false, "force_run", "open", "running override"],
  ["scheduled_pause", "pause", false, "force_pause", "none", "pausing override"],
  ["scheduled_pause", "scheduled", false, "scheduled_pause", "none", ""],
  ["force_run", "window-opens", true, "force_run", "none", ""],
  ["force_run", "window-closes", false, "force_run", "none", ""],
  ["force_run", "pause", true, "force_pause", "stop", "pausing override"],
  ["force_run", "run", false, "force_run", "none", ""],
  ["force_run", "scheduled", true, "", "none", "running schedule"],
  ["force_run", "scheduled", false, "scheduled_pause", "stop", "pausing schedule"],
  ["force_pause", "window-opens", true, "force_pause", "none", ""],
  ["force_pause", "window-closes", false, "force_pause", "none", ""],
  ["force_pause", "run", true, "force_run", "open", "running override"],
  ["force_pause", "pause", true, "force_pause", "none", ""],
  ["force_pause", "scheduled", true, "", "open", "running schedule"],
  ["force_pause", "scheduled", false, "scheduled_pause", "none", "pausing schedule"],
  ["schedule_resume", "window-closes", false, "scheduled_pause", "stop", "pausing schedule"],
  ["schedule_resume", "scheduled", true, "", "none", ""],
];

describe("pause transitions", () => {
  for (const [from, input, inside, to, action, event] of ROWS) {
    it(`${JSON.stringify(from)} and ${input} ${inside ? "inside" : "outside"} the window gives ${JSON.stringify(to)}`, () => {
      const step = pauseTransition(from, input, inside);
      expect(step.to).toBe(to);
      expect(step.action).toBe(action);
      expect(step.event === undefined ? "" : `${step.event.kind} ${step.event.cause}`).toBe(event);
    });
  }
});
