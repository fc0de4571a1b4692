import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Harness, startHarness, until } from "./harness.ts";

let h: Harness;
beforeAll(async () => {
  h = await startHarness();
});
afterAll(() => h.close());

describe("the process driver", () => {
  it("runs a task end to end: start, wait, output in files", async () => {
    const driver = await h.driver();
    const task = await h.prepare("sh", ["-c", "echo out; echo err >&2; exit 3"]);
    const { handle } = await driver.startTask(task.config);
    expect(handle.version).toBe(1);
    expect(await driver.waitTask(task.config.id)).toEqual({ exitCode: 3, signal: 0, oomKilled: false });
    expect(task.stdout()).toBe("out\n");
    expect(task.stderr()).toBe("err\n");
    await driver.destroyTask(task.config.id, false);
  });

  it("stops a task by its signal", async () => {
    const driver = await h.driver();
    const task = await h.prepare("sh", ["-c", "trap 'echo got; exit 5' INT; echo ready; while :; do sleep 0.05; done"]);
    await driver.startTask(task.config);
    await until("ready", () => task.stdout().includes("ready"));
    await driver.stopTask(task.config.id, 5_000, "");
    expect(await driver.waitTask(task.config.id)).toEqual({ exitCode: 5, signal: 0, oomKilled: false });
    expect(task.stdout()).toBe("ready\ngot\n");
    await driver.destroyTask(task.config.id, false);
  });
});
