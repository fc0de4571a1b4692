/** Driver processes that nobody needs any more. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { defaultDriverCommand } from "../../src/driver/driver-command.ts";
import { listNames } from "../../src/driver/process-driver/files.ts";
import { alive, type Harness, pause, startHarness, until } from "./harness.ts";

let h: Harness | undefined;
afterEach(async () => {
  await h?.close();
  h = undefined;
});

const shimsOf = (dataDir: string): number[] =>
  listNames("/proc")
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(`${dataDir}/driver/shim-`);
      } catch {
        return false;
      }
    })
    .map(Number);

describe("a driver process", () => {
  it("that was started by an agent which died at once ends by itself", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "outrider-unused-"));
    const { command, args } = defaultDriverCommand();
    const child = spawn(command, [...args, "--data-dir", dataDir], { stdio: "ignore" });
    const from = performance.now();
    expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(0);
    expect(performance.now() - from).toBeGreaterThan(9_000);
    expect(readFileSync(join(dataDir, "driver", "driver.log"), "utf8")).toContain("no agent and no task");
    rmSync(dataDir, { recursive: true });
  });

  it("stays as long as an agent is there, and as long as there is a task", async () => {
    h = await startHarness();
    const driver = await h.driver();
    const pid = h.driverPid();
    await pause(12_000);
    expect(alive(pid)).toBe(true);
    const task = await h.prepare("sh", ["-c", "exec sleep 1000"]);
    await driver.startTask(task.config);
    await h.drivers[Symbol.asyncDispose]();
    await pause(12_000);
    expect(alive(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
  });

  it("ends when its folder is gone and no task lives, although an agent is connected", async () => {
    h = await startHarness();
    await h.driver();
    const pid = h.driverPid();
    rmSync(join(h.dataDir, "driver"), { recursive: true });
    await until("its end", () => !alive(pid), 30_000);
  });

  it("ends after the last task when its folder is gone, and leaves no shim", async () => {
    h = await startHarness();
    const { dataDir } = h;
    const driver = await h.driver();
    const pid = h.driverPid();
    const task = await h.prepare("sh", [
      "-c",
      "echo $$; i=0; while [ $i -lt 40 ] || [ ! -e enough ]; do i=$((i + 1)); head -c 5000 /dev/zero; sleep 0.1; done",
    ]);
    await driver.startTask(task.config);
    await until("the task", () => task.stdout() !== "");
    const leader = Number(/\d+/.exec(task.stdout())?.[0]);
    // everything of the agent, while the task writes more than a pipe holds
    rmSync(join(h.dataDir, "driver"), { recursive: true });
    mkdirSync(join(h.dataDir, "driver"));
    await pause(2_500);
    expect([alive(pid), alive(leader)]).toEqual([true, true]);
    writeFileSync(join(task.config.allocDir, "t", "enough"), "");
    await until("the end of the task", () => !alive(leader), 30_000);
    await until("the end of the driver", () => !alive(pid), 30_000);
    await until("the end of its shim", () => shimsOf(dataDir).length === 0);
  });
});
