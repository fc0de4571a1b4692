import { make, type Allocation, type TaskState } from "@outrider/nomad-structs";
import { TaskStateStruct } from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import { simulatedRunnerFactory, type AllocRunner, type SimulatedRunnerOptions } from "../src/index.ts";
import { anAlloc, testConfig, type TestConfig } from "./support.ts";

async function started(
  o: { alloc?: Allocation; options?: SimulatedRunnerOptions } = {},
): Promise<{ config: TestConfig; runner: AllocRunner }> {
  const config = testConfig(o.alloc ?? anAlloc());
  const runner = await simulatedRunnerFactory(o.options)(config);
  void runner.run();
  await config.clock.flush();
  return { config, runner };
}

const state = (runner: AllocRunner, task = "web"): TaskState => runner.allocState().taskStates[task] as TaskState;
const types = (runner: AllocRunner, task = "web"): string[] => (state(runner, task).Events ?? []).map((e) => e.Type);
const restart = { type: "Restart Signaled", facts: { reason: "User requested task to restart" } } as const;

describe("a simulated allocation", () => {
  it("goes from receipt to running and healthy in the time of a real one", async () => {
    const { config, runner } = await started();
    expect(runner.allocState().clientStatus).toBe("pending");
    await config.clock.advance(900);
    expect(types(runner)).toEqual(["Received", "Task Setup", "Task hook message", "Task hook message", "Started"]);
    expect(runner.allocState()).toMatchObject({
      clientStatus: "running",
      clientDescription: "Tasks are running",
      deploymentStatus: { Healthy: true },
    });
    expect(config.updates.at(-1)?.ClientStatus).toBe("running");
  });

  it("keeps the process alive while it waits, so that a program may await its end", async () => {
    const { config } = await started();
    expect(config.clock.pending.length).toBeGreaterThan(0);
    expect(config.clock.pending.every((timer) => timer.ref)).toBe(true);
  });

  it("ends when the server wants it to (trap 1)", async () => {
    const { config, runner } = await started();
    await config.clock.advance(1_000);
    runner.update({ ...runner.alloc(), DesiredStatus: "stop", AllocModifyIndex: 11 });
    await config.clock.advance(99);
    expect(runner.allocState().clientStatus).toBe("running");
    await config.clock.advance(1);
    await runner.waitDone;
    expect(runner.allocState().clientStatus).toBe("complete");
    expect(types(runner).slice(-3)).toEqual(["Killing", "Terminated", "Killed"]);
  });

  it("ends at once when it has not started", async () => {
    const { config, runner } = await started();
    await config.clock.advance(200);
    runner.update({ ...runner.alloc(), DesiredStatus: "evict", AllocModifyIndex: 11 });
    await config.clock.advance(1);
    await runner.waitDone;
    expect(types(runner).at(-1)).toBe("Killing");
    expect(runner.allocState().clientStatus).toBe("complete");
  });

  it("that is stopped already never starts", async () => {
    const { config, runner } = await started({ alloc: { ...anAlloc(), DesiredStatus: "stop" } });
    await config.clock.advance(5_000);
    await runner.waitDone;
    expect(state(runner).StartedAt).toBeNull();
  });

  it("ignores an older version, and any after its end", async () => {
    const { config, runner } = await started();
    runner.update({ ...runner.alloc(), DesiredStatus: "stop", AllocModifyIndex: 3 });
    await config.clock.advance(2_000);
    expect(runner.allocState().clientStatus).toBe("running");
    runner.destroy();
    await config.clock.advance(500);
    await runner.destroyDone;
    runner.update({ ...runner.alloc(), AllocModifyIndex: 99 });
    expect(runner.alloc().AllocModifyIndex).toBe(10);
  });

  it("hands out deep copies only (trap 2)", async () => {
    const { config, runner } = await started();
    await config.clock.advance(1_000);
    const sent = config.updates.at(-1)!;
    sent.TaskStates!["web"]!.State = "broken";
    sent.TaskStates!["web"]!.Events!.length = 0;
    expect(state(runner).State).toBe("running");
    expect(types(runner)).toHaveLength(5);
  });

  it("gives each signal once, and when it is time (trap 3)", async () => {
    const { config, runner } = await started();
    expect(runner.waitDone).toBe(runner.waitDone);
    expect(runner.destroyDone).toBe(runner.destroyDone);
    expect(runner.shutdownDone).toBe(runner.shutdownDone);
    let ended = false;
    void Promise.race([runner.waitDone, runner.destroyDone, runner.shutdownDone]).then(() => (ended = true));
    await config.clock.advance(2_000);
    expect([ended, runner.isDestroyed()]).toEqual([false, false]);
    runner.destroy();
    runner.destroy();
    await config.clock.advance(200);
    await Promise.all([runner.waitDone, runner.destroyDone, runner.shutdownDone]);
    expect(runner.isDestroyed()).toBe(true);
  });

  it("measures priority against what was acknowledged (trap 4)", async () => {
    const { config, runner } = await started();
    await config.clock.advance(1_000);
    const update = config.updates.at(-1)!;
    expect(runner.getUpdatePriority(update)).toBe("typical");
    runner.acknowledgeState(update);
    expect(runner.getUpdatePriority(update)).toBe("none");
    expect(runner.getUpdatePriority({ ...update, ClientStatus: "complete" })).toBe("urgent");
  });

  it("can be listened to (trap 5)", async () => {
    const { config, runner } = await started();
    using listener = runner.listener();
    await config.clock.advance(1_000);
    expect((await listener.receive())?.ClientStatus).toBe("running");
    runner.destroy();
    await config.clock.advance(200);
    await runner.destroyDone;
    expect((await listener.receive())?.ClientStatus).toBe("complete");
    expect(await listener.receive()).toBeUndefined();
  });

  it("shows a change after a reconnect, so that its node becomes ready (hashicorp/nomad#15068)", async () => {
    const { config, runner } = await started();
    await config.clock.advance(1_000);
    runner.acknowledgeState(config.updates.at(-1)!);
    await runner.reconnect({ ...runner.alloc(), AllocModifyIndex: 12, DesiredStatus: "stop" });
    expect(types(runner).at(-1)).toBe("Reconnected");
    expect(runner.getUpdatePriority(config.updates.at(-1)!)).toBe("typical");
    expect(runner.alloc()).toMatchObject({ AllocModifyIndex: 12, DesiredStatus: "run" });
  });
});

describe("batch work", () => {
  it("completes by itself", async () => {
    const { config, runner } = await started({ alloc: anAlloc({ type: "batch", tasks: ["a", "b"] }) });
    await config.clock.advance(1_900);
    await runner.waitDone;
    expect(runner.allocState().clientStatus).toBe("complete");
  });

  it("fails when told to", async () => {
    const options = { runForMs: () => 10, exitCode: () => 3, startMs: 1, setup: [] };
    const { config, runner } = await started({ alloc: anAlloc({ type: "sysbatch" }), options });
    await config.clock.advance(20);
    await runner.waitDone;
    expect(runner.allocState()).toMatchObject({ clientStatus: "failed", clientDescription: "Failed tasks" });
    expect(types(runner)).toEqual(["Received", "Started", "Terminated", "Not Restarting"]);
  });

  it("of a service with a deployment makes it unhealthy when it fails", async () => {
    const options = {
      runForMs: () => 0,
      exitCode: () => 1,
      startMs: 0,
      setup: [{ afterMs: 0, event: { type: "Task Setup" } as const }],
    };
    const config = testConfig();
    const runner = await simulatedRunnerFactory(options)(config);
    void runner.run();
    await config.clock.runUntilIdle();
    expect(runner.allocState().deploymentStatus?.Healthy).toBe(true);
    const never = await started({ options: { setup: [], startMs: 1e6 } });
    never.runner.setClientStatus("failed");
    expect(never.runner.allocState().clientStatus).toBe("failed");
  });
});

it("may be stopped in the middle of its setup, its start and its run", async () => {
  for (const ms of [50, 450, 950]) {
    const { config, runner } = await started({ alloc: anAlloc({ type: "batch" }) });
    await config.clock.advance(ms);
    runner.update({ ...runner.alloc(), DesiredStatus: "stop", AllocModifyIndex: 11 });
    await config.clock.advance(200);
    await runner.waitDone;
    expect(runner.allocState().clientStatus).toBe("complete");
    expect(config.clock.pending).toHaveLength(0);
  }
});

it("let go while it stops stays as it is", async () => {
  const { config, runner } = await started();
  await config.clock.advance(1_000);
  runner.update({ ...runner.alloc(), DesiredStatus: "stop", AllocModifyIndex: 11 });
  runner.shutdown();
  await runner.shutdownDone;
  expect(types(runner).at(-1)).toBe("Killing");
});

it("an unhealthy one says so in its deployment", async () => {
  const options = {
    setup: [{ afterMs: 1, event: { type: "Setup Failure", facts: { error: "no", failsTask: true } } as const }],
    startMs: 1e6,
  };
  const { config, runner } = await started({ options });
  await config.clock.advance(10);
  expect(runner.allocState().deploymentStatus).toMatchObject({ Healthy: false });
  const known = { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 4 };
  const canary = await started({ alloc: { ...anAlloc(), DeploymentStatus: known } });
  await canary.config.clock.advance(1_000);
  expect(canary.runner.allocState().deploymentStatus).toMatchObject({ Healthy: true, Canary: true, ModifyIndex: 4 });
});

describe("requests", () => {
  it("restart what runs and refuse what does not", async () => {
    const { config, runner } = await started();
    await expect(runner.restartTask("web", restart)).rejects.toThrow("Task not running");
    await expect(runner.restartTask("db", restart)).rejects.toThrow("Could not find task runner for task: db");
    await runner.restartRunning(restart);
    expect(state(runner).Restarts).toBe(0);
    await config.clock.advance(1_000);
    await runner.restartTask("web", restart);
    await runner.restartAll(restart);
    expect(types(runner).slice(-4)).toEqual(["Restart Signaled", "Terminated", "Restarting", "Started"]);
    expect(state(runner)).toMatchObject({ State: "running", Restarts: 2 });
  });

  it("signal one task or all", async () => {
    const { config, runner } = await started({ alloc: anAlloc({ tasks: ["web", "db"] }) });
    await config.clock.advance(1_000);
    await runner.signal("", "SIGHUP");
    await runner.signal("db", "SIGUSR1");
    expect(types(runner).at(-1)).toBe("Signaling");
    expect(types(runner, "db").slice(-2)).toEqual(["Signaling", "Signaling"]);
    await expect(runner.signal("nope", "SIGHUP")).rejects.toThrow("Task not found");
  });

  it("pause, run and give back", async () => {
    const { config, runner } = await started();
    await runner.setTaskPauseState("web", "force_pause");
    await config.clock.advance(1_000);
    expect([state(runner).State, runner.getTaskPauseState("")]).toEqual(["pending", "force_pause"]);
    await runner.setTaskPauseState("", "force_run");
    await runner.setTaskPauseState("web", "force_run");
    const b = await started();
    await b.config.clock.advance(1_000);
    await b.runner.setTaskPauseState("web", "force_pause");
    expect(state(b.runner)).toMatchObject({ State: "pending", Paused: "force_pause" });
    await b.runner.setTaskPauseState("web", "schedule_resume");
    expect(state(b.runner)).toMatchObject({ State: "running", Paused: "" });
    expect(types(b.runner).slice(-2)).toEqual(["Running", "Started"]);
    await expect(b.runner.setTaskPauseState("web", "other" as never)).rejects.toThrow(
      "not a valid task schedule state",
    );
    await expect(b.runner.setTaskPauseState("x", "")).rejects.toThrow("Could not find task runner");
    b.runner.destroy();
    await b.config.clock.advance(1_000);
    await expect(b.runner.setTaskPauseState("web", "force_run")).rejects.toThrow("Task not running");
  });

  it("take a driver's events, and know nothing to execute or to measure", async () => {
    const { config, runner } = await started();
    runner.taskEventHandler("web")?.({ message: "pulling", annotations: { image: "x" }, timestampMs: 0 });
    await config.clock.flush();
    expect(state(runner).Events?.at(-1)).toMatchObject({
      Type: "Driver",
      DisplayMessage: "pulling",
      Details: { image: "x", driver_message: "pulling" },
    });
    expect(runner.taskEventHandler("nope")).toBeUndefined();
    expect(runner.taskExecHandler("web")).toBeUndefined();
    expect(await runner.taskDriverCapabilities("web")).toMatchObject({ exec: false });
    await expect(runner.taskDriverCapabilities("nope")).rejects.toThrow("task not found");
    expect(runner.statsReporter().latestAllocStats()).toEqual({ ResourceUsage: null, Tasks: {}, Timestamp: 0 });
    expect([runner.isMigrating(), runner.isWaiting(), runner.getAllocDir()]).toEqual([false, false, undefined]);
    await runner.persistState();
  });
});

describe("the end of the process", () => {
  it("lets go of the tasks without ending them", async () => {
    const { config, runner } = await started();
    await config.clock.advance(1_000);
    const sent = config.updates.length;
    runner.shutdown();
    runner.shutdown();
    await runner.shutdownDone;
    await runner.waitDone;
    expect(config.updates).toHaveLength(sent);
    expect(config.clock.pending).toHaveLength(0);
    runner.destroy();
    await runner.destroyDone;
    expect(state(runner).State).toBe("running");
  });

  it("of a runner that never ran is over at once; after a destroy it is nothing", async () => {
    const config = testConfig();
    const runner = await simulatedRunnerFactory()(config);
    runner.shutdown();
    await runner.shutdownDone;
    const other = await simulatedRunnerFactory()(testConfig());
    other.destroy();
    other.shutdown();
    await other.destroyDone;
    expect(other.allocState().clientStatus).toBe("complete");
  });
});

it("takes up what the server knows after a restart of the process", async () => {
  const known = make(TaskStateStruct, { State: "running", StartedAt: "2026-01-01T00:00:00Z" });
  const config = testConfig({
    ...anAlloc({ type: "batch", tasks: ["a", "b"] }),
    TaskStates: { a: known, b: { ...known, State: "dead" } },
  });
  const runner = await simulatedRunnerFactory()(config);
  await runner.restore();
  void runner.run();
  await config.clock.advance(1_000);
  await runner.waitDone;
  expect(types(runner, "a")).toEqual(["Terminated"]);
  expect(types(runner, "b")).toEqual([]);
});

it("refuses an allocation whose group is not in its job", () => {
  expect(() => simulatedRunnerFactory()(testConfig({ ...anAlloc(), TaskGroup: "other" }))).toThrow(
    'failed to lookup task group "other"',
  );
});

it("reports an empty status for a group without tasks", async () => {
  const { runner } = await started({ alloc: anAlloc({ tasks: [] }) });
  expect(runner.allocState().clientStatus).toBe("");
});
