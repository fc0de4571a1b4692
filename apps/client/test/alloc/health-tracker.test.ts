import { make, TaskStateStruct, type TaskState } from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import { taskHealth, unhealthyReason, type TrackedTask } from "../../src/alloc/health-tracker.ts";

const s = (State: string, o: object = {}): TaskState => make(TaskStateStruct, { State, ...o });
const running = (at: string): TaskState => s("running", { StartedAt: `2026-01-01T00:00:${at}Z` });
const dead = s("dead", { FinishedAt: "2026-01-01T00:00:00Z" });
const failed = s("dead", { FinishedAt: "2026-01-01T00:00:00Z", Failed: true });
const T = (name: string, stage: TrackedTask["stage"] = "main"): TrackedTask => ({ name, stage });

describe("the health of tasks", () => {
  it("is good since the last of them started", () => {
    expect(taskHealth([T("a"), T("b")], { a: running("01"), b: running("05") })).toEqual({
      kind: "running",
      sinceMs: Date.parse("2026-01-01T00:00:05Z"),
    });
  });

  it("waits for what has not started, telling a pause apart", () => {
    expect(taskHealth([T("a"), T("b")], { a: running("01") })).toEqual({ kind: "waiting", paused: false });
    expect(taskHealth([T("a")], { a: s("pending", { Paused: "scheduled_pause" }) })).toEqual({
      kind: "waiting",
      paused: true,
    });
  });

  it("is bad once one failed, or ended that should not", () => {
    expect(taskHealth([T("a"), T("b")], { a: failed, b: s("pending") })).toEqual({ kind: "unhealthy", tasks: ["a"] });
    expect(taskHealth([T("a")], { a: dead }).kind).toBe("unhealthy");
    expect(taskHealth([T("i", "prestart")], { i: failed }).kind).toBe("unhealthy");
  });

  it("does not mind tasks that did their work, and poststop ones (hashicorp/nomad#9361)", () => {
    const tasks = [T("i", "prestart"), T("a"), T("after", "poststart"), T("clean", "poststop")];
    expect(taskHealth(tasks, { i: dead, a: running("01"), after: dead, clean: s("pending") }).kind).toBe("running");
    expect(taskHealth(tasks, { i: dead, a: running("01"), after: failed }).kind).toBe("unhealthy");
  });
});

describe("the words for an unhealthy task", () => {
  const o = { deadlinePassed: false, minHealthyTime: "10s", healthyDeadline: "5m0s" };
  const late = { ...o, deadlinePassed: true };
  const rows: Array<[task: TrackedTask, state: TaskState | undefined, o: typeof o, text: string | undefined]> = [
    [T("a"), failed, o, "Unhealthy because of failed task"],
    [T("a"), dead, o, "Unhealthy because of dead task"],
    [T("a"), s("pending"), late, "Task not running by healthy_deadline of 5m0s"],
    [T("a"), undefined, late, "Task not running by healthy_deadline of 5m0s"],
    [T("a"), s("pending"), o, undefined],
    [T("a"), running("01"), late, "Task not running for min_healthy_time of 10s by healthy_deadline of 5m0s"],
    [T("a"), running("01"), o, undefined],
    [T("i", "prestart"), dead, late, undefined],
    [T("clean", "poststop"), failed, late, undefined],
  ];
  for (const [task, state, given, text] of rows) {
    it(`${task.stage}, ${state?.State ?? "unknown"}${state?.Failed === true ? " and failed" : ""}, ${given.deadlinePassed ? "late" : "in time"}: ${text ?? "none"}`, () => {
      expect(unhealthyReason(task, state, given)).toBe(text);
    });
  }
});
