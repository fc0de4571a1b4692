/** The bundled executable, started as an agent starts it. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { TaskConfig } from "@outrider/plugin-driver";
import { encodeConfig, type HostedDriver, launchPlugin } from "@outrider/plugin-driver/host";

const command = join(dirname(fileURLToPath(import.meta.url)), "../dist/outrider-driver-hello");
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hello-"));
  mkdirSync(join(folder, "web"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const launch = (): Promise<HostedDriver> => launchPlugin({ command, env: { PATH: process.env["PATH"] ?? "" } });

async function task(driver: HostedDriver, config: object): Promise<TaskConfig> {
  const schema = await driver.taskConfigSchema();
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
    msgpackDriverConfig: encodeConfig(schema, config),
    env: { PATH: "/usr/bin:/bin" },
    deviceEnv: {},
    mounts: [],
    devices: [],
    user: "",
    allocDir: folder,
    stdoutPath: "/dev/null",
    stderrPath: "/dev/null",
  };
}

it("runs a task, which outlives kill -9 of the plugin and is found again with its exit code", async () => {
  const first = await launch();
  await first.setConfig(new Uint8Array());
  const config = await task(first, { name: "world", every: 0.1 });
  const { handle } = await first.startTask(config);
  process.kill(first.pid as number, "SIGKILL");
  await first.gone;
  await expect(first.waitTask(config.id)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
  await using second = await launch();
  await second.recoverTask({ ...handle, config: { ...handle.config, msgpackDriverConfig: new Uint8Array() } });
  expect((await second.inspectTask(config.id)).status.state).toBe("running");
  await second.signalTask(config.id, "SIGINT");
  expect(await second.waitTask(config.id)).toEqual({ exitCode: 0, signal: 0, oomKilled: false });
  await second.destroyTask(config.id, false);
});

it("gives its handshake line soon and nothing else on stdout, and tells a human what it is", async () => {
  const began = performance.now();
  await using driver = await launch();
  const tookMs = performance.now() - began;
  console.log(`launch to answered PluginInfo: ${Math.round(tookMs)} ms`);
  expect(await driver.info()).toEqual({ name: "hello", type: "driver", version: "0.1.0", apiVersions: ["v0.1.0"] });
  expect(() => execFileSync(command, { stdio: "pipe" })).toThrow(/task driver plugin/);
});

it("keeps the agent's pipes and variables away from tasks, and lives on when the agent dies", async () => {
  const env = { PATH: process.env["PATH"] ?? "", NOMAD_PLUGIN_MAGIC_COOKIE: COOKIE, PLUGIN_PROTOCOL_VERSIONS: "2" };
  // Real pipes, as a Go agent gives them; Node would give sockets.
  const shell = spawn("/bin/sh", ["-c", `"$0" 2>&1 | head -n 1; sleep 60`, command], { env, detached: true });
  try {
    const line = await new Promise<string>((resolve) => {
      let text = "";
      shell.stdout.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes("\n")) resolve(text.trim());
      });
    });
    expect(line).toMatch(/^1\|2\|unix\|\/.*\|grpc\|$/);
    const pid = Number(/plugin(\d+?)[0-9a-f]{8}\|/.exec(line)?.[1]);
    for (const fd of [0, 1, 2])
      expect(execFileSync("readlink", [`/proc/${pid}/fd/${fd}`]).toString()).toBe("/dev/null\n");
    expect(readFileSync(`/proc/${pid}/stat`, "utf8")).not.toBe("");
    const { connectPlugin } = await import("@outrider/plugin-driver/host");
    const driver = await connectPlugin({ socketPath: line.split("|")[3] as string, expect: { name: "hello" } });
    await driver.stop();
  } finally {
    if (shell.pid !== undefined) process.kill(-shell.pid, "SIGKILL");
  }
});

const COOKIE = "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255";
