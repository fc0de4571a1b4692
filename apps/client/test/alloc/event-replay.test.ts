import { readdirSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { TaskEvent } from "@outrider/nomad-structs";
import { describe, expect, it, onTestFinished } from "vitest";
import { openOutside } from "./support/outside.ts";
import { Harness, loadScenario, type Scenario } from "./support/harness.ts";

/**
 * Where the client does other than the recorded stock agent, on purpose. `text`: the same events, worded by us. `events`: other events, given
 * here.
 */
const DIFFERENCES: Record<
  string,
  | { kind: "text"; types: string[]; why: string }
  | { kind: "events"; types: Record<string, string[]>; status: string; why: string }
> = {
  "driver-config-invalid": {
    kind: "text",
    types: ["Failed Validation"],
    why: "the schema decoder's words are our own",
  },
  "driver-start-fails": { kind: "text", types: ["Driver Failure"], why: "the driver's words are our own" },
  "exit-inside-shutdown-delay-no-restarts": {
    kind: "events",
    types: {
      main: ["Received", "Task Setup", "Started", "Killing", "Waiting for shutdown delay", "Terminated", "Killed"],
    },
    status: "complete",
    why: "a stop that was asked for ends as complete, with no restart event (known-bugs 9)",
  },
  "agent-killed-in-restart-delay": {
    kind: "events",
    types: {
      main: [
        "Task Setup",
        "Started",
        "Terminated",
        "Restarting",
        "Started",
        "Terminated",
        "Restarting",
        "Started",
        "Terminated",
        "Not Restarting",
      ],
    },
    status: "failed",
    why: "the restart count and a running restart delay survive the agent (known-bugs 9)",
  },
  "stop-group-shutdown-delay": {
    kind: "events",
    types: {
      main: ["Received", "Task Setup", "Started", "Waiting for shutdown delay", "Killing", "Terminated", "Killed"],
    },
    status: "complete",
    why: "the group's delay is told (hashicorp/nomad#26829)",
  },
  "artifact-fails": { kind: "text", types: ["Failed Artifact Download"], why: "the download's words are our own" },
  "kill-during-artifact": {
    kind: "events",
    types: { main: ["Received", "Task Setup", "Downloading Artifacts", "Killing"] },
    status: "complete",
    why: "a stop ends a download at once (known-bugs 9)",
  },
};

const NAMES = readdirSync(new URL("../fixtures/events/", import.meta.url)).map((f) => f.replace(/\.json$/, ""));

/** Scenarios that touch files or sockets: there real time has to pass too. */
const REAL = ["artifact-fails", "kill-during-artifact", "template-blocked", "template-restart", "check-restart"];

/** Runs a scenario's job, with its actions at their times, until after its last recorded event. */
async function replay(name: string, scenario: Scenario): Promise<Harness> {
  const real = REAL.includes(name);
  const outside = real ? await openOutside() : undefined;
  if (outside !== undefined) onTestFinished(() => outside.close());
  const h = new Harness({
    job: outside === undefined ? scenario.job : outside.job(scenario.job),
    ...(outside === undefined ? {} : { config: outside.config, alloc: { AllocatedResources: outside.resources } }),
  });
  await h.agent();
  const end =
    Math.max(0, ...scenario.events.map((e) => e.ms), ...scenario.actions.map((a) => a.ms)) +
    (name === "agent-killed-in-restart-delay" ? 12_000 : 500);
  let at = 0;
  for (const { ms, action } of [...scenario.actions, { ms: end, action: "end" }]) {
    if (real) await passReal(h, ms - at);
    else await h.clock.advance(ms - at);
    at = ms;
    if (action === "variable changed") outside?.variables.set("nomad/jobs/ev-template", { color: "blue" });
    else await act(h, name, action);
  }
  if (real) await passReal(h, 500);
  return h;
}

/** Small steps of the manual clock, each with time for files and sockets. */
async function passReal(h: Harness, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    await h.clock.advance(Math.min(50, ms - passed));
    // Files are worked on in a queue: what stands in it before these is done with them.
    for (let i = 0; i < 12; i++) await Promise.all([1, 2, 3, 4].map(() => stat("/")));
  }
}

let contacted: () => void = () => undefined;

async function act(h: Harness, name: string, action: string): Promise<void> {
  switch (action) {
    case "job stop":
      return h.stop();
    case "job stop -no-shutdown-delay":
      return h.stop({ noShutdownDelay: true });
    case "restart all":
      return void h.runner.restartAll({
        type: "Restart Signaled",
        facts: { reason: "User requested all tasks to restart" },
      });
    case "restart main":
      return void h.runner.restartTask("main", {
        type: "Restart Signaled",
        facts: { reason: "User requested task to restart" },
      });
    case "signal SIGUSR1":
      return h.runner.signal("", "SIGUSR1");
    case "agent killed with SIGKILL":
      h.killAgent();
      if (name === "agent-killed-executor-killed") h.machine.reboot();
      return;
    case "agent started again":
      await h.agent({
        restore: true,
        serversContacted: new Promise((resolve) => {
          contacted = resolve;
        }),
      });
      return;
    case "leader elected":
      if (name === "agent-killed-stopped-while-down") h.stop();
      return contacted();
  }
}

/** A stable form of an event: durations with jitter keep their place only. */
function shown(type: string, text: string, details: Record<string, string>): unknown {
  if (type !== "Restarting" || details["start_delay"] === "0") return { type, text, details };
  return { type, text: text.replace(/in [\d.]+s$/, "in <delay>"), details: { ...details, start_delay: "<delay>" } };
}

const ours = (e: TaskEvent): unknown => shown(e.Type, e.DisplayMessage, e.Details ?? {});

describe("golden event lists of a stock agent", () => {
  it("cover every recording", () => {
    expect(NAMES).toHaveLength(34);
    for (const name of Object.keys(DIFFERENCES)) expect(NAMES).toContain(name);
  });

  for (const name of NAMES) {
    const difference = DIFFERENCES[name];
    it(difference === undefined ? `${name}: the same events` : `${name}: ${difference.why}`, async () => {
      const scenario = loadScenario(name);
      const h = await replay(name, scenario);
      for (const task of Object.keys(scenario.final.tasks)) {
        const golden = scenario.events.filter((e) => e.task === task);
        if (difference?.kind === "events") {
          expect(h.types(task), task).toEqual(difference.types[task]);
          continue;
        }
        const worded = difference?.kind === "text" ? difference.types : [];
        const strip = (e: unknown): unknown =>
          worded.includes((e as { type: string }).type) ? (e as { type: string }).type : e;
        // A recording may have lost its first events, or have been taken before the last ones.
        const list = h.events(task).slice(-Math.max(golden.length, 1));
        expect(list.map(ours).map(strip), task).toEqual(
          golden.map((e) => strip(shown(e.type, e.display_message, e.details))),
        );
      }
      expect(h.status).toBe(difference?.kind === "events" ? difference.status : scenario.final.client_status);
      if (difference?.kind !== "events") compareFinal(h, scenario);
      compareOrder(h, scenario);
    });
  }
});

function compareFinal(h: Harness, scenario: Scenario): void {
  const state = h.runner.allocState();
  expect(state.clientDescription).toBe(scenario.final.client_description);
  for (const [task, golden] of Object.entries(scenario.final.tasks)) {
    const s = h.state(task);
    const all: Record<string, unknown> = {
      State: s.State,
      Failed: s.Failed,
      Restarts: s.Restarts,
      StartedAt_set: s.StartedAt !== null,
      FinishedAt_set: s.FinishedAt !== null,
      LastRestart_set: s.LastRestart !== null,
    };
    // A recording without its beginning has counted restarts that the replay does not make.
    const whole = scenario.events.some((e) => e.task === task && e.type === "Received");
    const keys = Object.keys(golden).filter((key) => whole || key !== "Restarts");
    const pick = (from: Record<string, unknown>): unknown => Object.fromEntries(keys.map((key) => [key, from[key]]));
    expect(pick(all), task).toEqual(pick(golden));
  }
  const health = scenario.final.deployment_status;
  // An allocation that is still running when the replay ends was recorded after its min_healthy_time.
  if (health === null || health.Healthy) return;
  expect(state.deploymentStatus?.Healthy).toBe(false);
  expect(state.deploymentStatus?.Timestamp).not.toBeNull();
}

/** Events of different tasks that lay clearly apart keep their order. */
function compareOrder(h: Harness, scenario: Scenario): void {
  const at = (task: string, type: string): number | undefined => h.events(task).find((e) => e.Type === type)?.Time;
  const once = scenario.events.filter(
    (e) => scenario.events.filter((o) => o.task === e.task && o.type === e.type).length === 1,
  );
  for (const a of once) {
    for (const b of once) {
      const [first, second] = [at(a.task, a.type), at(b.task, b.type)];
      if (b.ms - a.ms < 50 || first === undefined || second === undefined) continue;
      expect(first, `${a.task} ${a.type} before ${b.task} ${b.type}`).toBeLessThanOrEqual(second);
    }
  }
}
