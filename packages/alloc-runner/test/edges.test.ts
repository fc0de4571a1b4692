import { describe, expect, it } from "vitest";
import { simulatedRunnerFactory, type AllocRunner } from "../src/index.ts";
import { anAlloc, testConfig, type TestConfig } from "./support.ts";

async function started(
  alloc = anAlloc({ tasks: ["web", "side"] }),
): Promise<{ config: TestConfig; runner: AllocRunner }> {
  const config = testConfig(alloc);
  const runner = await simulatedRunnerFactory()(config);
  void runner.run();
  await config.clock.flush();
  return { config, runner };
}
const types = (runner: AllocRunner, task: string): string[] =>
  (runner.allocState().taskStates[task]?.Events ?? []).map((e) => e.Type);

describe("an allocation of two tasks", () => {
  it("says that nothing has started, that both run, that both ended", async () => {
    const { config, runner } = await started();
    const said = (): unknown[] => [runner.allocState().clientStatus, runner.allocState().clientDescription];
    expect(said()).toEqual(["pending", "No tasks have started"]);
    await config.clock.advance(1_000);
    expect(said()).toEqual(["running", "Tasks are running"]);
    expect(runner.allocState().deploymentStatus).toMatchObject({ Healthy: true, Canary: false });
    runner.update({ ...runner.alloc(), DesiredStatus: "stop", AllocModifyIndex: 11 });
    await config.clock.advance(1_000);
    await runner.waitDone;
    expect(said()).toEqual(["complete", "All tasks have completed"]);
    for (const task of ["web", "side"]) expect(types(runner, task).at(-1)).toBe("Killed");
  });

  it("of no deployment gets no health", async () => {
    const { config, runner } = await started(anAlloc({ type: "batch", tasks: ["web", "side"] }));
    await config.clock.advance(1_000);
    expect(runner.allocState().deploymentStatus).toBeNull();
  });

  it("an update that changes nothing of its wish does not stop it, one of the same version is taken", async () => {
    const { config, runner } = await started();
    await config.clock.advance(1_000);
    runner.update({ ...runner.alloc(), Name: "same version" });
    expect(runner.alloc().Name).toBe("same version");
    await config.clock.advance(1_000);
    expect(runner.allocState().clientStatus).toBe("running");
  });

  it("many changes of one turn are one report", async () => {
    const { config, runner } = await started();
    await config.clock.advance(1_000);
    const before = config.updates.length;
    await runner.signal("", "SIGHUP");
    await config.clock.flush();
    expect(config.updates.length).toBe(before + 1);
    for (const task of ["web", "side"]) expect(types(runner, task).at(-1)).toBe("Signaling");
  });

  it("pauses both when no task is named, and tells the state of the first", async () => {
    const { config, runner } = await started();
    await config.clock.advance(1_000);
    await runner.setTaskPauseState("", "force_pause");
    const states = ["web", "side", ""].map((task) => runner.getTaskPauseState(task));
    expect(new Set(states).size).toBe(1);
    expect(states[0]).not.toBe("");
    await runner.setTaskPauseState("side", "force_run");
    expect(runner.getTaskPauseState("side")).not.toBe(states[0]);
    expect([runner.getTaskPauseState("web"), runner.getTaskPauseState("")]).toEqual([states[0], states[0]]);
  });

  it("refuses unknown tasks and states by code, text and details", async () => {
    const { runner } = await started();
    const unknown = (message: string) => ({ code: "ERR_OUTRIDER_ALLOC_UNKNOWN_TASK", message, details: { task: "x" } });
    const missing = unknown("Could not find task runner for task: x");
    await expect(runner.signal("x", "SIGHUP")).rejects.toMatchObject(unknown("Task not found"));
    await expect(runner.restartTask("x", { type: "Restart Signaled" })).rejects.toMatchObject(missing);
    await expect(runner.taskDriverCapabilities("x")).rejects.toMatchObject(unknown("task not found"));
    await expect(runner.setTaskPauseState("x", "force_pause")).rejects.toMatchObject(missing);
    expect(() => runner.getTaskPauseState("x")).toThrow(expect.objectContaining(missing));
    await expect(runner.setTaskPauseState("web", "sleep" as never)).rejects.toMatchObject({
      code: "ERR_OUTRIDER_TASK_PAUSE_STATE",
      message: "not a valid task schedule state",
    });
  });

  it("tells what its driver can", async () => {
    const { runner } = await started();
    expect(await runner.taskDriverCapabilities("side")).toEqual({
      sendSignals: true,
      exec: false,
      fsIsolation: "none",
      networkIsolationModes: ["host"],
      mustCreateNetwork: false,
      mountConfigs: "none",
      disableLogCollection: true,
      dynamicWorkloadUsers: false,
    });
  });
});

describe("a group that is not in the job", () => {
  it.each([
    ["other group", { ...anAlloc(), TaskGroup: "none" }],
    ["no groups", { ...anAlloc(), Job: { ...anAlloc().Job!, TaskGroups: null } }],
    ["no job", { ...anAlloc(), Job: null }],
  ])("%s is refused", async (_name, alloc) => {
    const made = async (): Promise<AllocRunner> => simulatedRunnerFactory()(testConfig(alloc as never));
    await expect(made()).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOC_INVALID",
      message: `failed to lookup task group ${JSON.stringify(alloc.TaskGroup)}`,
    });
  });

  it("a group without tasks has nothing to say", async () => {
    const { runner } = await started(anAlloc({ tasks: [] }));
    expect(runner.getTaskPauseState("")).toBe("");
    expect([runner.allocState().clientStatus, runner.allocState().clientDescription]).toEqual(["", ""]);
  });
});

describe("the end of the agent", () => {
  it("lets the tasks run on, and is over when run has ended", async () => {
    const { config, runner } = await started();
    await config.clock.advance(1_000);
    runner.shutdown();
    runner.shutdown();
    await Promise.all([runner.waitDone, runner.shutdownDone]);
    expect(runner.allocState().clientStatus).toBe("running");
    expect(runner.isDestroyed()).toBe(false);
    const before = config.updates.length;
    runner.destroy();
    await runner.destroyDone;
    expect(runner.isDestroyed()).toBe(true);
    expect(runner.allocState().clientStatus).toBe("running");
    runner.setClientStatus("lost");
    expect(config.updates.length).toBe(before);
  });

  it("of a runner that never ran is over at once", async () => {
    const config = testConfig(anAlloc());
    const runner = await simulatedRunnerFactory()(config);
    runner.shutdown();
    await runner.shutdownDone;
    expect(runner.allocState().taskStates["web"]?.State).toBe("pending");
  });
});
