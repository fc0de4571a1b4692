import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  appendTaskEvent,
  MAX_TASK_EVENTS,
  parseDuration,
  TASK_EVENT,
  taskEvent,
  type TaskEvent,
  type TaskEventFacts,
  type TaskEventType,
} from "../src/index.ts";

interface Recorded {
  readonly type: TaskEventType;
  readonly message: string;
  readonly display_message: string;
  readonly details: Record<string, string>;
}

const recorded = JSON.parse(readFileSync(new URL("fixtures/task-events.json", import.meta.url), "utf8")) as Recorded[];

/** What happened, read back from a recorded event; texts are taken only where the text is the fact. */
function factsOf({ type, details, display_message: shown }: Recorded): TaskEventFacts {
  const delay = /shutdown_delay of (\S+) before/.exec(shown)?.[1];
  switch (type) {
    case TASK_EVENT.terminated:
      return {
        exitCode: Number(details["exit_code"]),
        signal: Number(details["signal"]),
        oomKilled: details["oom_killed"] === "true",
        exitMessage: details["exit_message"] ?? "",
      };
    case TASK_EVENT.restarting:
      return { reason: details["restart_reason"] ?? "", startDelayNs: Number(details["start_delay"]) };
    case TASK_EVENT.notRestarting:
      return { reason: details["restart_reason"] ?? "" };
    case TASK_EVENT.restartSignaled:
      return details["restart_reason"] === undefined ? { message: shown } : { reason: details["restart_reason"] };
    case TASK_EVENT.killing:
      return {
        killTimeoutNs: parseDuration(details["kill_timeout"] as string),
        ...(shown.startsWith("Sent interrupt") ? {} : { message: shown }),
      };
    case TASK_EVENT.signaling:
      return { signalName: details["signal"] as string };
    case TASK_EVENT.driverFailure:
      return { error: details["driver_error"] as string };
    case TASK_EVENT.failedValidation:
      return { error: details["validation_error"] as string };
    case TASK_EVENT.failedArtifactDownload:
      return { error: details["download_error"] as string };
    case TASK_EVENT.siblingFailed:
      return { sibling: details["failed_sibling"] as string };
    case TASK_EVENT.allocUnhealthy:
    case TASK_EVENT.template:
      return { message: shown };
    default:
      return delay === undefined ? {} : { shutdownDelayNs: parseDuration(delay) };
  }
}

describe("taskEvent", () => {
  it.each(recorded.map((r, i) => [`${i} ${r.type}`, r] as const))(
    "gives the text and details of the recorded event %s",
    (_title, r) => {
      const event = taskEvent(r.type, 1_796_043_450_123.4, factsOf(r));
      expect({ shown: event.DisplayMessage, details: event.Details }).toEqual({
        shown: r.display_message,
        details: r.details,
      });
      expect(event.Time).toBe(1_796_043_450_123_400_000);
      if (r.message !== "") expect(event.Message).toBe(r.message);
    },
  );

  const more: [TaskEventType, TaskEventFacts, Partial<TaskEvent>][] = [
    ["Terminated", { exitCode: 1, exitMessage: "lost" }, { DisplayMessage: 'Exit Code: 1, Exit Message: "lost"' }],
    ["Terminated", {}, { DisplayMessage: "Exit Code: 0", ExitCode: 0 }],
    ["Restarting", { startDelayNs: 5e9 }, { DisplayMessage: "Task restarting in 5s" }],
    ["Restarting", { reason: "x" }, { DisplayMessage: "x - Task restarting in 0s" }],
    ["Killing", { reason: "Template failed", failsTask: true }, { DisplayMessage: "Template failed", FailsTask: true }],
    ["Signaling", { signalName: "SIGHUP", reason: "t" }, { DisplayMessage: "Task being sent signal SIGHUP: t" }],
    ["Signaling", {}, { DisplayMessage: "Task being sent a signal" }],
    ["Setup Failure", {}, { DisplayMessage: "Task setup failed", FailsTask: false }],
    ["Setup Failure", { error: "e", reason: "r", failsTask: true }, { KillReason: "r", SetupError: "e" }],
    ["Driver", { message: "pulling", annotations: { image: "a" } }, { DriverMessage: "pulling" }],
    ["Driver", {}, { DisplayMessage: "" }],
    ["Driver Failure", {}, { DisplayMessage: "Failed to start task" }],
    ["Failed Validation", {}, { DisplayMessage: "Validation of task failed" }],
    ["Failed Artifact Download", {}, { DisplayMessage: "Failed to download artifacts" }],
    ["Not Restarting", {}, { DisplayMessage: "", FailsTask: true }],
    ["Not Restarting", { reason: "r", failsTask: false }, { FailsTask: false }],
    ["Restart Signaled", {}, { DisplayMessage: "Task signaled to restart" }],
    ["Killed", { error: "gone" }, { DisplayMessage: "gone", KillError: "gone" }],
    ["Sibling Task Failed", {}, { DisplayMessage: "Task's sibling failed" }],
    ["Pausing", {}, { DisplayMessage: "Pausing due to schedule" }],
    ["Running", { cause: "override" }, { DisplayMessage: "Running due to override" }],
    ["Reconnected", {}, { DisplayMessage: "Client reconnected" }],
    ["Waiting for shutdown delay", {}, { DisplayMessage: "Waiting for shutdown_delay of 0s before killing the task." }],
    ["Template", {}, { DisplayMessage: "" }],
    ["Task hook message", { message: "m" }, { Message: "m", DisplayMessage: "m" }],
    ["Task hook failed", {}, { DisplayMessage: "" }],
  ];
  it.each(more)("words %s %j", (type, facts, expected) => {
    expect(taskEvent(type, 0, facts)).toMatchObject(expected);
  });

  it("adds a driver's annotations to the details", () => {
    const event = taskEvent("Driver", 0, { message: "pulling", annotations: { image: "a" } });
    expect(event.Details).toEqual({ image: "a", driver_message: "pulling" });
  });
});

describe("appendTaskEvent", () => {
  it("keeps the newest ten and leaves the given list alone", () => {
    let events: TaskEvent[] | null = null;
    for (let i = 0; i < 14; i += 1) events = appendTaskEvent(events, taskEvent("Started", i));
    expect(events).toHaveLength(MAX_TASK_EVENTS);
    expect(events?.at(0)?.Time).toBe(4e6);
    const before = events?.length;
    appendTaskEvent(events, taskEvent("Killed", 99));
    expect(events?.length).toBe(before);
  });
});
