import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { alive, type Harness, startHarness, type TestTask, until } from "./harness.ts";

let h: Harness;
beforeAll(async () => {
  h = await startHarness();
});
afterAll(() => h.close());

const sh = (script: string, more: object = {}): Promise<TestTask> => h.prepare("sh", ["-c", script], more);

async function run(task: TestTask): Promise<string> {
  const driver = await h.driver();
  await driver.startTask(task.config);
  const { exitCode, signal } = await driver.waitTask(task.config.id);
  await driver.destroyTask(task.config.id, false);
  return `${exitCode}/${signal}`;
}

describe("the process driver", () => {
  it("runs a task end to end: start, wait, output in files", async () => {
    const driver = await h.driver();
    const task = await sh("echo out; echo err >&2; exit 3");
    const { handle } = await driver.startTask(task.config);
    expect(handle.version).toBe(1);
    expect(await driver.waitTask(task.config.id)).toEqual({ exitCode: 3, signal: 0, oomKilled: false });
    expect(task.stdout()).toBe("out\n");
    expect(task.stderr()).toBe("err\n");
    expect((await driver.inspectTask(task.config.id)).status).toMatchObject({
      state: "exited",
      exitResult: { exitCode: 3 },
    });
    await driver.destroyTask(task.config.id, false);
    await expect(driver.waitTask(task.config.id)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND" });
  });

  it("stops a task by its signal", async () => {
    const driver = await h.driver();
    const task = await sh("trap 'echo got; exit 5' INT; echo ready; while :; do sleep 0.05; done");
    await driver.startTask(task.config);
    await until("ready", () => task.stdout().includes("ready"));
    await driver.stopTask(task.config.id, 5_000, "");
    expect(await driver.waitTask(task.config.id)).toEqual({ exitCode: 5, signal: 0, oomKilled: false });
    expect(task.stdout()).toBe("ready\ngot\n");
    await driver.stopTask(task.config.id, 5_000, "");
    await driver.destroyTask(task.config.id, false);
  });

  it("kills a task that ignores the signal when the time is over, and refuses unknown signals", async () => {
    const driver = await h.driver();
    const task = await sh("trap '' INT TERM; echo ready; while :; do sleep 0.05; done");
    await driver.startTask(task.config);
    await until("ready", () => task.stdout().includes("ready"));
    await expect(driver.stopTask(task.config.id, 100, "SIGNONSENSE")).rejects.toThrow('unknown signal "SIGNONSENSE"');
    await expect(driver.destroyTask(task.config.id, false)).rejects.toThrow("running");
    const began = performance.now();
    await driver.stopTask(task.config.id, 300, "SIGTERM");
    expect(performance.now() - began).toBeGreaterThan(290);
    expect(await driver.waitTask(task.config.id)).toEqual({ exitCode: 137, signal: 9, oomKilled: false });
    await driver.destroyTask(task.config.id, false);
  });

  it("passes signals by name and default dispositions to the task", async () => {
    const driver = await h.driver();
    const task = await sh("trap 'echo hup' HUP; echo ready; while :; do sleep 0.05; done");
    await driver.startTask(task.config);
    await until("ready", () => task.stdout().includes("ready"));
    await driver.signalTask(task.config.id, "SIGHUP");
    await until("hup", () => task.stdout().includes("hup"));
    await expect(driver.signalTask(task.config.id, "SIGWHAT")).rejects.toThrow("unknown signal");
    // a shell that starts a command in the background ignores INT; the task must not inherit that
    await driver.stopTask(task.config.id, 5_000, "SIGINT");
    expect(await driver.waitTask(task.config.id)).toMatchObject({ exitCode: 130, signal: 2 });
    await driver.destroyTask(task.config.id, false);
  });

  it("ends daemons that left the session when the task ends, and leaves no process, slot or cgroup behind", async () => {
    const task = await sh(
      "setsid sh -c 'trap \"\" HUP TERM; echo $$ >daemon; exec sleep 1000' & while [ ! -s daemon ]; do sleep 0.02; done; (setsid sleep 1000 &); exit 0",
    );
    expect(await run(task)).toBe("0/0");
    const daemon = Number(readFileSync(join(task.config.allocDir, "t", "daemon"), "utf8"));
    expect(daemon).toBeGreaterThan(1);
    expect(alive(daemon)).toBe(false);
    for (const folder of ["slots", "tasks", "specs"])
      expect(readdirSync(join(h.dataDir, "driver", folder))).toEqual([]);
  });

  it("gives the task exactly its environment, whatever the names", async () => {
    const env = {
      PATH: process.env["PATH"] ?? "",
      A: 'it\'s "quoted" $HOME `x` \\ é',
      "B.c-d": "dots",
      IFS: ":",
      PS1: "p",
      NEWLINE: "a\nb",
      EMPTY: "",
      _: "under",
      PWD: "/mine",
    };
    const task = await h.prepare("env", ["-0"], { env });
    expect(await run(task)).toBe("0/0");
    const seen = Object.fromEntries(
      Buffer.from(task.stdout(), "latin1")
        .toString("utf8")
        .split("\0")
        .filter((line) => line !== "")
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
    expect(seen).toEqual({ ...env, OUTRIDER_TASK: task.config.id });
  });

  it("starts in the task's folder, leads a session, and inherits no descriptor", async () => {
    const script = `process.stdout.write(JSON.stringify({ cwd: process.cwd(), fds: require("fs").readdirSync("/proc/self/fd").map((f) => { try { return [f, require("fs").readlinkSync("/proc/self/fd/" + f)] } catch { return null } }).filter((x) => x && /fifo|slot|outrider|socket/.test(x[1])), sid: require("fs").readFileSync("/proc/self/stat", "latin1").split(") ")[1].split(" ")[3] - process.pid, umask: process.umask() }))`;
    const task = await h.prepare(process.execPath, ["-e", script]);
    expect(await run(task)).toBe("0/0");
    const seen = JSON.parse(task.stdout()) as { cwd: string; fds: Array<[string, string]>; sid: number; umask: number };
    expect(seen.cwd).toBe(join(task.config.allocDir, "t"));
    expect(seen.sid).toBe(0);
    expect(seen.umask).toBe(0o022);
    expect(seen.fds.map(([fd]) => fd).sort()).toEqual(["1", "2"]);
  });

  it("refuses what cannot run, with the words of a stock agent, and leaves nothing", async () => {
    const driver = await h.driver();
    const missing = await h.prepare("/no/such/program", []);
    await expect(driver.startTask(missing.config)).rejects.toMatchObject({
      recoverable: false,
      message: expect.stringContaining(
        'failed to launch command with executor: rpc error: code = Unknown desc = binary "/no/such/program" could not be found',
      ),
    });
    const long = await h.prepare("echo", ["x".repeat(131_072)]);
    await expect(driver.startTask(long.config)).rejects.toThrow("argument 1 is 131072 bytes long, the limit is 131071");
    const odd = await sh("true", { settings: { command: "true", colour: "red" } });
    await expect(driver.startTask(odd.config)).rejects.toThrow('colour "red" is not known');
    const fits = await h.prepare("sh", ["-c", "printf %s ${#1}", "sh", "x".repeat(131_071)]);
    expect(await run(fits)).toBe("0/0");
    expect(fits.stdout()).toBe("131071");
    expect(readdirSync(join(h.dataDir, "driver", "slots"))).toEqual([]);
  });

  it("starts one process for one id, however often it is asked", async () => {
    const driver = await h.driver();
    const task = await sh("echo started; sleep 1000");
    const all = await Promise.all(Array.from({ length: 10 }, () => driver.startTask(task.config)));
    expect(new Set(all.map(({ handle }) => Buffer.from(handle.driverState).toString())).size).toBe(1);
    await until("output", () => task.stdout() !== "");
    await driver.destroyTask(task.config.id, true);
    expect(task.stdout()).toBe("started\n");
  });

  it("runs a task as another user, with that user's groups and names", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("needs root");
    const task = await sh(
      "id -un; echo $HOME $USER $LOGNAME; echo via-path >/dev/stdout; cat /proc/self/environ >/dev/null && echo own",
      { user: "nobody" },
    );
    const logs = statSync(task.logDir);
    expect(logs.isDirectory()).toBe(true);
    expect(await run(task)).toBe("0/0");
    expect(task.stdout()).toContain("nobody\n");
    expect(task.stdout()).toMatch(/\/\S* nobody nobody\n/);
    expect(task.stdout()).toContain("via-path\n");
    const driver = await h.driver();
    const stranger = await sh("true", { user: "no-such-user-here" });
    await expect(driver.startTask(stranger.config)).rejects.toThrow('failed to identify user "no-such-user-here"');
  });

  it("runs commands beside the task, in its folder, environment and cgroup", async () => {
    const driver = await h.driver();
    const task = await sh("echo ready; sleep 1000", { env: { PATH: process.env["PATH"] ?? "", MARK: "here" } });
    await driver.startTask(task.config);
    const { id } = task.config;
    const result = await driver.execTask(id, ["sh", "-c", "echo $MARK; pwd; echo oops >&2; exit 7"], 5_000);
    expect(Buffer.from(result.stdout).toString()).toBe(`here\n${join(task.config.allocDir, "t")}\n`);
    expect(Buffer.from(result.stderr).toString()).toBe("oops\n");
    expect(result.exitResult.exitCode).toBe(7);
    const slow = await driver.execTask(id, ["sh", "-c", "echo first; sleep 100"], 2_000);
    expect(Buffer.from(slow.stdout).toString()).toBe("first\n");
    expect(slow.exitResult.signal).toBe(9);
    await expect(driver.execTask(id, [], 0)).rejects.toThrow("empty command");
    async function* input(): AsyncGenerator<{ stdin: { data?: Uint8Array; close?: boolean } }> {
      yield { stdin: { data: Buffer.from("typed") } };
      yield { stdin: { close: true } };
      await new Promise(() => undefined);
    }
    const frames = [];
    for await (const frame of driver.execTaskStreaming?.(
      id,
      { command: ["cat"], tty: false },
      input(),
      AbortSignal.timeout(5_000),
    ) ?? [])
      frames.push(frame);
    expect(frames.at(-1)?.exited).toMatchObject({ exitCode: 0 });
    expect(
      Buffer.concat(frames.flatMap(({ stdout }) => (stdout?.data === undefined ? [] : [stdout.data]))).toString(),
    ).toBe("typed");
    await driver.destroyTask(id, true);
  });

  it("streams usage until the task ends", async () => {
    const driver = await h.driver();
    const task = await sh("until [ -e enough ]; do :; done");
    await driver.startTask(task.config);
    const samples = [];
    for await (const usage of driver.taskStats(task.config.id, 200, AbortSignal.timeout(60_000))) {
      samples.push(usage);
      const busy = samples.some(({ ResourceUsage }) => (ResourceUsage?.CpuStats?.Percent ?? 0) > 10);
      if (samples.length > 4 && busy) writeFileSync(join(task.config.allocDir, "t", "enough"), "");
    }
    expect(samples.length).toBeGreaterThan(4);
    expect(samples.at(-2)?.ResourceUsage?.MemoryStats?.RSS).toBeGreaterThan(0);
    expect(Math.max(...samples.map(({ ResourceUsage }) => ResourceUsage?.CpuStats?.Percent ?? 0))).toBeGreaterThan(10);
    await driver.destroyTask(task.config.id, true);
  });

  it("counts a kill for lack of memory", async ({ skip }) => {
    const driver = await h.driver();
    const task = await sh("echo ready; read go <go; exec head -c 200m /dev/zero | tail");
    const made = spawn("mkfifo", [join(task.config.allocDir, "t", "go")]);
    await new Promise((resolve) => made.once("exit", resolve));
    await driver.startTask(task.config);
    await until("ready", () => task.stdout() !== "");
    const pid = Number((await driver.inspectTask(task.config.id)).status.attributes["pid"]);
    const line = /^\d+:memory:(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1];
    if (line === undefined || !line.includes("outrider")) {
      await driver.destroyTask(task.config.id, true);
      skip("no memory cgroup here");
    }
    writeFileSync(`/sys/fs/cgroup/memory${line}/memory.limit_in_bytes`, String(20 * 1024 * 1024));
    writeFileSync(join(task.config.allocDir, "t", "go"), "\n");
    expect((await driver.waitTask(task.config.id)).oomKilled).toBe(true);
    await driver.destroyTask(task.config.id, true);
  });
});
