import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type Harness, pause, startHarness, type TestTask, until } from "./harness.ts";

let h: Harness;
afterEach(() => h.close());

const BLOCK = 10_000;
const LEAST_BLOCKS = 300;
/** Writes blocks until it is told to stop, but not fewer than so many, and how many there were into a file. */
const SCRIPT = `i=0; while [ $i -lt ${LEAST_BLOCKS} ] || [ ! -e enough ]; do i=$((i+1)); head -c ${BLOCK} big; done; echo $i >blocks; echo end`;
const KILLS = 4;

/** Kills the driver again and again while a few tasks write as fast as they can, and counts the bytes. */
async function killWhileWriting(): Promise<{ expected: number; seen: number }> {
  const tasks: TestTask[] = [];
  for (let n = 0; n < 4; n++) {
    const task = await h.prepare("sh", ["-c", SCRIPT], { name: `w${n}`, maxFiles: 200 });
    writeFileSync(join(task.config.allocDir, task.config.name, "big"), `${"x".repeat(99)}\n`.repeat(100));
    tasks.push(task);
  }
  let driver = await h.driver();
  await Promise.all(tasks.map(({ config }) => driver.startTask(config)));
  const folder = ({ config }: TestTask): string => join(config.allocDir, config.name);
  for (let kills = 1; kills <= KILLS; kills++) {
    await pause(30 + Math.random() * 150);
    await h.killDriver();
    driver = await h.driver(kills);
  }
  for (const task of tasks) writeFileSync(join(folder(task), "enough"), "");
  for (const { config } of tasks) {
    expect(await driver.waitTask(config.id)).toMatchObject({ exitCode: 0 });
    await driver.destroyTask(config.id, false);
  }
  const blocks = (task: TestTask): number => Number(readFileSync(join(folder(task), "blocks"), "utf8"));
  return {
    expected: tasks.reduce((sum, task) => sum + blocks(task) * BLOCK + "end\n".length, 0),
    seen: tasks.reduce((sum, task) => sum + task.stdout().length, 0),
  };
}

describe("output while the driver process is killed", () => {
  it("is complete to the byte when the kernel moves it", async () => {
    h = await startHarness();
    await h.driver();
    const { expected, seen } = await killWhileWriting();
    expect(expected).toBeGreaterThan(4 * LEAST_BLOCKS * BLOCK);
    expect(seen).toBe(expected);
  });
});

describe("output files", () => {
  it("come back while the task writes on when somebody removes them, and it never notices", async () => {
    h = await startHarness();
    const driver = await h.driver();
    const task = await h.prepare("sh", [
      "-c",
      "i=0; until [ -e enough ]; do i=$((i+1)); echo line $i; sleep 0.05; done; echo last line",
    ]);
    await driver.startTask(task.config);
    await until("output", () => task.stdout().includes("line 5"));
    for (const name of readdirSync(task.logDir)) if (name.startsWith("t.stdout")) unlinkSync(join(task.logDir, name));
    await until("new file", () => task.stdout() !== "");
    writeFileSync(join(task.config.allocDir, "t", "enough"), "");
    expect(await driver.waitTask(task.config.id)).toMatchObject({ exitCode: 0 });
    expect(task.stdout()).toMatch(/\nlast line\n$/);
    await driver.destroyTask(task.config.id, false);
  });

  it("serve all restarts of a task, and no descriptor stays behind", async () => {
    h = await startHarness();
    const driver = await h.driver();
    const task = await h.prepare("sh", ["-c", "echo run; echo err >/dev/stderr"]);
    const pid = h.driverPid();
    const fds = (): number => readdirSync(`/proc/${pid}/fd`).length;
    let before = 0;
    for (let n = 0; n < 12; n++) {
      const config = { ...task.config, id: `${task.config.allocId}/t/${n.toString(16).padStart(8, "0")}` };
      await driver.startTask(config);
      await driver.waitTask(config.id);
      await driver.destroyTask(config.id, false);
      if (n === 3) before = fds();
    }
    expect(task.stdout()).toBe("run\n".repeat(12));
    expect(task.stderr()).toBe("err\n".repeat(12));
    await until("as many descriptors as before", () => fds() <= before);
    await h.drivers.logCollector.stop(`${task.config.allocId}/t`);
    await h.drivers.logCollector.stop(`${task.config.allocId}/t`);
    await until("the descriptors of its output closed", () => fds() <= before - 5);
    expect(readdirSync(join(h.dataDir, "driver", "logs"))).toEqual([]);
  });

  it("are not collected any more by a later driver when their folder is gone", async () => {
    h = await startHarness();
    await h.driver();
    const task = await h.prepare("true", []);
    rmSync(task.config.allocDir, { recursive: true });
    await h.killDriver();
    await h.driver(1);
    await until("forgotten", () => readdirSync(join(h.dataDir, "driver", "logs")).length === 0);
  });

  it("refuse a folder that is a link, and say which field is wrong", async () => {
    h = await startHarness();
    await h.driver();
    const task = await h.prepare("true", []);
    const root = join(task.config.allocDir, "..", "other");
    mkdirSync(join(root, "alloc"), { recursive: true });
    symlinkSync(task.logDir, join(root, "alloc", "logs"));
    const logDir = join(root, "alloc", "logs");
    const request = {
      id: "x",
      taskName: "t",
      logDir,
      stdoutFifo: join(logDir, "o"),
      stderrFifo: join(logDir, "e"),
      maxFiles: 1,
      maxFileSizeMb: 1,
    };
    await expect(h.drivers.logCollector.start(request)).rejects.toThrow(/ELOOP|ENOTDIR/);
    await expect(h.drivers.logCollector.start({ ...request, logDir: task.logDir, maxFiles: 0 })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_LOGS_REQUEST",
    });
  });
});

describe("the driver's folder", () => {
  it("is closed to other users, sockets included", async () => {
    h = await startHarness();
    await h.driver();
    const folder = join(h.dataDir, "driver");
    expect(statSync(folder).mode & 0o077).toBe(0);
    for (const name of ["process.sock", "driver.log"]) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
  });
});
