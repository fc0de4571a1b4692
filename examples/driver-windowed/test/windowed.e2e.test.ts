/** The bundled executable around the bundled hello driver, as an agent runs them. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { HclSpec, TaskConfig, TaskHandle } from "@outrider/plugin-driver";
import {
  encodeConfig,
  type HostedDriver,
  isAlive,
  launchPlugin,
  type ReattachRecord,
} from "@outrider/plugin-driver/host";

const bundle = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const WINDOWED = bundle("driver-windowed/dist/outrider-driver-windowed");
const HELLO = bundle("driver-hello/dist/outrider-driver-hello");
/** All day in a zone in which it is neither shortly before nor after midnight now: open while the tests run. */
const zone = new Date().getUTCHours() < 12 ? "Etc/GMT-6" : "Etc/GMT+6";
const OPEN = { window_start: "0 0 * * * *", window_end: "0 0", window_timezone: zone };

let folder: string;
let stateDir: string;
const drivers: HostedDriver[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "windowed-"));
  stateDir = join(folder, "state");
  mkdirSync(join(folder, "web"));
});
afterEach(async () => {
  for (const driver of drivers.splice(0)) {
    if (driver.isGone) continue;
    await driver.destroyTask("a/web/0a0b0c0d", true);
    await driver.shutdown();
    await driver.stop();
  }
  rmSync(folder, { recursive: true, force: true });
});

async function launch(): Promise<HostedDriver> {
  const driver = await launchPlugin({ command: WINDOWED, env: { PATH: process.env["PATH"] ?? "" } });
  drivers.push(driver);
  const block = { driver: { hello: { command: HELLO } }, state_dir: stateDir };
  await driver.setConfig(encodeConfig((await driver.configSchema()) as HclSpec, block));
  return driver;
}

async function task(driver: HostedDriver, config: object): Promise<TaskConfig> {
  const outputs = ["out", "err"].map((name) => join(folder, name));
  for (const path of outputs) writeFileSync(path, "");
  const [stdoutPath = "", stderrPath = ""] = outputs;
  return {
    id: "a/web/0a0b0c0d",
    name: "web",
    jobId: "j",
    jobName: "j",
    taskGroupName: "g",
    allocId: "a",
    namespace: "default",
    nodeId: "n",
    nodeName: "n",
    parentJobId: "",
    msgpackDriverConfig: encodeConfig(await driver.taskConfigSchema(), { driver: "hello", ...config }),
    env: { PATH: "/usr/bin:/bin" },
    deviceEnv: {},
    mounts: [],
    devices: [],
    user: "",
    allocDir: folder,
    stdoutPath,
    stderrPath,
  };
}

/** The hello driver's process, as the windowed one has noted it. */
function inner(): NonNullable<ReattachRecord["process"]> {
  const [file = ""] = readdirSync(stateDir);
  return (JSON.parse(readFileSync(join(stateDir, file), "utf8")) as { reattach: Required<ReattachRecord> }).reattach
    .process;
}

const stored = (handle: TaskHandle): TaskHandle => ({
  ...handle,
  config: { ...handle.config, msgpackDriverConfig: new Uint8Array() },
});

async function kill(driver: HostedDriver): Promise<void> {
  process.kill(driver.pid as number, "SIGKILL");
  await driver.gone;
}

it("tells how its wrapped drivers are, and ends them when the agent leaves in order", async () => {
  const driver = await launch();
  for await (const print of driver.fingerprint(AbortSignal.timeout(20_000))) {
    expect(print).toMatchObject({ health: "healthy", attributes: { "driver.windowed.drivers": { value: "hello" } } });
    break;
  }
  const hello = inner();
  expect(isAlive(hello)).toBe(true);
  await driver.shutdown();
  await driver.stop();
  await vi.waitFor(() => expect(isAlive(hello)).toBe(false), 20_000);
});

it.each(["the windowed driver", "the wrapped driver", "both"])(
  "runs a task that outlives kill -9 of %s and ends with its exit code, once",
  async (victim) => {
    const first = await launch();
    const config = await task(first, { config: { name: "you", every: 0.1, times: 25 }, ...OPEN });
    const { handle } = await first.startTask(config);
    const wait = first.waitTask(config.id);
    wait.catch(() => undefined);
    const hello = inner();
    if (victim !== "the windowed driver") process.kill(hello.pid, "SIGKILL");
    let second = first;
    if (victim !== "the wrapped driver") {
      await kill(first);
      second = await launch();
      await second.recoverTask(stored(handle));
    }
    // What lives is found again, not started once more.
    if (victim === "the windowed driver") expect(inner()).toEqual(hello);
    expect(await (second === first ? wait : second.waitTask(config.id))).toEqual({
      exitCode: 0,
      signal: 0,
      oomKilled: false,
    });
    expect(readFileSync(config.stdoutPath, "utf8")).toBe("hello, you!\n".repeat(25));
    await second.destroyTask(config.id, false);
    expect(readdirSync(join(folder, "web"))).toEqual([]);
  },
);

it("gives its pid files to nobody else and takes no folder of others", async () => {
  mkdirSync(stateDir, { mode: 0o777 });
  (await import("node:fs")).chmodSync(stateDir, 0o777);
  const driver = await launch();
  await expect(driver.startTask(await task(driver, { config: { name: "you" }, ...OPEN }))).rejects.toMatchObject({
    recoverable: false,
    message: expect.stringContaining("state_dir") as string,
  });
});
