import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger } from "@outrider/foundation";
import { timeText, type Allocation } from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import { AllocChecks } from "../../src/alloc/checks/alloc-checks.ts";
import { checksOfTasks } from "../../src/alloc/checks/checks-of-tasks.ts";
import type { TaskRunner } from "../../src/task/task-runner.ts";

const check = {
  Name: "c",
  Type: "tcp",
  PortLabel: "",
  Interval: 1e9,
  Timeout: 1e9,
  OnUpdate: "require_healthy",
  TaskName: "",
  CheckRestart: { Limit: 2, Grace: 1e9, IgnoreWarnings: false },
};
const service = (checks: object[]): object => ({
  Name: "web",
  Provider: "nomad",
  PortLabel: "1",
  Address: "127.0.0.1",
  TaskName: "",
  Checks: checks,
});
const alloc = (group: object[] | null, task: object[] | null): Allocation =>
  ({
    ID: "a",
    Name: "j.g[0]",
    TaskGroup: "g",
    Job: { TaskGroups: [{ Name: "g", Services: group, Tasks: [{ Name: "main", Services: task }] }] },
    AllocatedResources: null,
  }) as unknown as Allocation;
const same = { all: {}, replace: (text: string) => text };

class FakeTask {
  readonly restarts: [number, string | undefined, boolean | undefined][] = [];
  readonly record = { phase: "running", state: { StartedAt: "" } };
  readonly name: string;
  readonly #clock: ManualClock;

  constructor(name: string, clock: ManualClock) {
    this.name = name;
    this.#clock = clock;
    this.start();
  }

  start(): void {
    this.record.phase = "running";
    this.record.state.StartedAt = timeText(this.#clock.now());
  }

  async restart(event: { facts?: { reason?: string } }, o?: { failure?: boolean }): Promise<void> {
    this.restarts.push([this.#clock.monotonic(), event.facts?.reason, o?.failure]);
    if (this.name === "stubborn") throw new Error("Task not running");
  }
}

/** Nothing ever answers. */
const probe = async (): Promise<{ ok: boolean; output: string; statusCode: number }> => ({
  ok: false,
  output: "",
  statusCode: 0,
});

describe("checks tied to tasks", () => {
  it("restart the task that a failing check belongs to once per life, as a failure", async () => {
    const clock = new ManualClock();
    const main = new FakeTask("main", clock);
    const other = new FakeTask("other", clock);
    const checks = checksOfTasks({
      clock,
      logger: noopLogger,
      probe,
      tasks: () => [main, other] as unknown as TaskRunner[],
    });
    checks.start(alloc(null, [service([check, { ...check, Name: "d" }])]), same.replace);
    await clock.advance(6_000);
    // The second check finds the restart asked for, and so do later answers while the task takes its time to end.
    expect(main.restarts.map(([, reason, failure]) => [reason, failure])).toEqual([
      ['healthcheck: check "c" unhealthy', true],
    ]);
    expect(main.restarts[0]?.[0]).toBeGreaterThanOrEqual(2_000);
    expect(main.restarts[0]?.[0]).toBeLessThan(3_200);
    main.start();
    await clock.advance(3_500);
    expect([main.restarts.length, other.restarts.length]).toEqual([2, 0]);
    await checks.stop();
    expect(clock.pending).toEqual([]);
  });

  it("restart all that run when the service is the group's, and none that does not", async () => {
    const clock = new ManualClock();
    const tasks = ["main", "stubborn", "dead"].map((name) => new FakeTask(name, clock));
    (tasks[2] as FakeTask).record.phase = "dead";
    const checks = checksOfTasks({ clock, logger: noopLogger, probe, tasks: () => tasks as unknown as TaskRunner[] });
    checks.start(alloc([service([check])], null), same.replace);
    await clock.advance(4_000);
    expect(tasks.map((t) => t.restarts.length)).toEqual([1, 1, 0]);
    await checks.stop();
  });

  it("take the start of a task of an earlier process from its state", async () => {
    const clock = new ManualClock();
    const main = new FakeTask("main", clock);
    main.record.state.StartedAt = timeText(clock.now() - 3_600_000);
    const checks = checksOfTasks({ clock, logger: noopLogger, probe, tasks: () => [main] as unknown as TaskRunner[] });
    checks.start(alloc(null, [service([check])]), same.replace);
    await clock.advance(1_500);
    expect(main.restarts).toHaveLength(1);
    await checks.stop();
  });

  it("keep the result of a check that stays, and end those of an older version", async () => {
    const clock = new ManualClock();
    let asked = 0;
    const checks = new AllocChecks({
      clock,
      logger: noopLogger,
      probe: async () => ({ ok: ++asked > 0, output: "", statusCode: 0 }),
      restart: async () => undefined,
      runningSince: () => 0,
    });
    checks.start(alloc(null, [service([check])]), same.replace);
    await clock.advance(100);
    checks.start(alloc(null, [service([check, { ...check, Name: "new" }])]), same.replace);
    expect(Object.values(checks.results()).map((r) => r.Status)).toEqual(["success", "pending"]);
    checks.start(alloc(null, null), same.replace);
    expect(checks.results()).toEqual({});
    await clock.advance(10_000);
    expect([asked, clock.pending]).toEqual([3, []]);
    await checks.stop();
  });

  it("count an answer that takes too long as a failure", async () => {
    const clock = new ManualClock();
    const checks = new AllocChecks({
      clock,
      logger: noopLogger,
      probe: (_planned, signal) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () =>
            resolve({ ok: false, output: String((signal.reason as Error).message), statusCode: 0 }),
          ),
        ),
      restart: async () => undefined,
      runningSince: () => 0,
    });
    checks.start(alloc(null, [service([check])]), same.replace);
    await clock.advance(1_000);
    expect(Object.values(checks.results())).toMatchObject([{ Status: "failure", Output: "no answer in time" }]);
    await checks.stop();
    expect(clock.pending).toEqual([]);
  });
});
