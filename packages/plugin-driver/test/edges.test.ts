/** Corners that ordinary use does not reach. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@outrider/backoff";
import { ManualClock } from "@outrider/backoff/testing";
import type { TaskResourceUsage } from "@outrider/nomad-structs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { decodeMsgpack, type HclSpec, schema } from "../src/index.ts";
import { connectPlugin, decodeConfig, encodeConfig } from "../src/host/index.ts";
import { processIdentity } from "../src/process/process-identity.ts";
import { recoverProcess, spawnProcess } from "../src/serve/index.ts";
import { processStats } from "../src/serve/process-stats.ts";
import { connected } from "./support/pair.ts";
import { MemoryDriver, taskConfig } from "./support/memory-driver.ts";

const forever = (): AbortSignal => new AbortController().signal;
const messageOf = (run: () => unknown): string => {
  try {
    run();
    return "";
  } catch (reason) {
    return (reason as Error).message;
  }
};

describe("a configuration", () => {
  const attr = (type: string): HclSpec => ({
    kind: "object",
    attributes: { a: { kind: "attr", name: "a", type, required: false } },
  });

  it("is refused where a block, a type or a value is none", () => {
    const spec = schema.object({ a: schema.string() }).spec();
    expect(messageOf(() => decodeConfig(spec, [null]))).toBe("config: an object is required, but have null");
    expect(messageOf(() => decodeConfig(spec, [[]]))).toBe("config: an object is required, but have a list");
    expect(messageOf(() => decodeConfig(spec, "x"))).toBe("config: an object is required, but have a string");
    expect(messageOf(() => decodeConfig(attr("list("), { a: 1 }))).toContain(`the schema's type "list(" is none`);
    expect(messageOf(() => decodeConfig(attr("any"), { a: Symbol("s") }))).toMatch(/^config\.a: /);
    for (const bytes of [[0xc1], [0x91], [0x00, 0x00], [0xa2, 0xff]]) {
      expect(() => decodeMsgpack(new Uint8Array(bytes))).toThrow(
        expect.objectContaining({ code: "ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE", recoverable: false }) as unknown as Error,
      );
    }
  });

  it("counts labelled blocks of null as none, and those in a list one by one", () => {
    const spec = schema.object({ m: schema.blockMap("label", { n: schema.number() }) }).spec();
    const read = (value: unknown): unknown => decodeMsgpack(encodeConfig(spec, { m: value }));
    expect(read({ a: null, b: { n: 1 } })).toEqual({ m: { b: { n: 1 } } });
    expect(read({ a: [{ n: 2 }] })).toEqual({ m: { a: { n: 2 } } });
    expect(messageOf(() => read({ a: [{ n: 2 }, { n: 3 }] }))).toContain("is given twice");
  });

  it("keeps whole numbers of any size, and fractions as the text they travel in", () => {
    const block = schema.object({ big: schema.bigint().default(7n), small: schema.bigint() });
    const bytes = encodeConfig(block.spec(), { small: 2n ** 60n });
    expect(block.read(decodeMsgpack(bytes))).toEqual({ big: 7n, small: 2n ** 60n });
    expect(decodeMsgpack(encodeConfig(attr("any"), { a: 0.1 }))).toEqual({ a: "0.1" });
    for (const whole of [2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 53n) - 1n, -(2n ** 63n)]) {
      expect(decodeMsgpack(encodeConfig(attr("any"), { a: [whole] }))).toEqual({ a: [whole] });
    }
    expect(decodeMsgpack(encodeConfig(attr("any"), { a: [2 ** 53 - 1, 1 - 2 ** 53] }))).toEqual({
      a: [2 ** 53 - 1, 1 - 2 ** 53],
    });
    expect(messageOf(() => block.read({ big: 1n, small: 1.5 }))).toBe(
      "config.small: a whole number is required, but have 1.5",
    );
  });

  it("has a few functions", () => {
    const value = (text: string): unknown =>
      (decodeMsgpack(encodeConfig(attr("any"), { a: `\${${text}}` })) as { a: unknown }).a;
    expect(value("int(3.7)")).toBe(3);
    expect(value("int(-0.5)")).toBe(0);
    expect(value("reverse([1, 2])")).toEqual([2, 1]);
    expect(value('reverse("ab")')).toEqual("ba");
    expect(value('jsondecode(jsonencode({a = [1, "x"]}))')).toEqual({ a: [1, "x"] });
  });

  it("bounds lists of blocks only where it is told to", () => {
    const free = schema.object({ b: schema.blockList({ n: schema.number() }) });
    expect(free.read(decodeMsgpack(encodeConfig(free.spec(), { b: [{ n: 1 }, { n: 2 }] })))).toEqual({
      b: [{ n: 1 }, { n: 2 }],
    });
    const bound = schema.object({ b: schema.blockList({ n: schema.number() }, { min: 1, max: 2 }) });
    expect(messageOf(() => encodeConfig(bound.spec(), {}))).toContain("at least 1 blocks are required, but have 0");
    expect(messageOf(() => encodeConfig(bound.spec(), { b: [{}, {}, {}] }))).toContain("at most 2 blocks");
  });
});

describe("a task that is one process", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "opx-"));
    mkdirSync(join(folder, "web"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const config = () => taskConfig({ allocDir: folder, env: { PATH: "/usr/bin:/bin" } });
  const sh = (script: string) => spawnProcess(config(), { command: "/bin/sh", args: ["-c", script] });

  it("is killed when it does not heed its signal in time", async () => {
    const task = await sh("trap '' TERM; echo >deaf; while :; do sleep 0.05; done");
    const wait = task.wait(forever());
    await vi.waitFor(() => expect(existsSync(join(folder, "web/deaf"))).toBe(true), { timeout: 10_000 });
    await task.stop(50, "SIGTERM");
    expect(await wait).toMatchObject({ exitCode: 137, signal: 9 });
    await task.stop(0, "");
    const samples = task.stats?.(10, forever());
    for await (const sample of samples ?? []) expect(sample).toBeUndefined();
    await task.destroy?.();
  });

  it("is not taken for ended by half a record, and without a process it is lost", async () => {
    const record = join(folder, "record");
    writeFileSync(record, "1");
    const state = { record };
    const lost = await recoverProcess({ config: config(), state, process: undefined, alive: false });
    expect(lost.pid).toBeUndefined();
    expect(lost.attributes?.()).toEqual({ pid: "" });
    expect(await lost.wait(forever())).toMatchObject({ exitCode: -1 });
    await lost.signal?.("SIGHUP");
    for await (const sample of lost.stats?.(10, forever()) ?? []) expect(sample).toBeUndefined();
    writeFileSync(record, "130\n");
    const ended = await recoverProcess({ config: config(), state, process: undefined, alive: false });
    expect(await ended.wait(forever())).toEqual({ exitCode: 130, signal: 2, oomKilled: false });
  });

  it.each([
    [0, 0],
    [1, 0],
    [128, 0],
    [129, 1],
    [137, 9],
    [192, 64],
    [193, 0],
    [255, 0],
  ])("that exited with %d was ended by signal %d, as a shell counts", async (exitCode, signal) => {
    const record = join(folder, "record");
    writeFileSync(record, `${exitCode}\n`);
    const task = await recoverProcess({ config: config(), state: { record }, process: undefined, alive: false });
    expect(await task.wait(forever())).toEqual({ exitCode, signal, oomKilled: false });
  });

  it.each(["x\n", "1", "1\n2\n", " 1\n", "-1\n", ""])("has no exit code in the record %j", async (text) => {
    const record = join(folder, "record");
    writeFileSync(record, text);
    const task = await recoverProcess({ config: config(), state: { record }, process: undefined, alive: false });
    expect(await task.wait(forever())).toEqual({
      exitCode: -1,
      signal: 0,
      oomKilled: false,
      error: "the process ended without a recorded exit code",
    });
  });

  it("keeps its record in its folder under the last part of its id, until it is destroyed", async () => {
    const task = await sh("exit 7");
    expect(task.state).toEqual({ record: join(folder, "web/.exit-30371515") });
    expect(await task.wait(forever())).toEqual({ exitCode: 7, signal: 0, oomKilled: false });
    expect(existsSync(task.state.record)).toBe(true);
    await task.destroy?.();
    await task.destroy?.();
    expect(existsSync(task.state.record)).toBe(false);
  });

  it("is not over because an earlier run of the same id is", async () => {
    expect(await (await sh("exit 7")).wait(forever())).toMatchObject({ exitCode: 7 });
    expect(await (await sh("sleep 0.2; exit 8")).wait(forever())).toMatchObject({ exitCode: 8 });
  });

  it("gets its arguments, the task's folder and the agent's environment unless told otherwise", async () => {
    const env = { PATH: "/usr/bin:/bin", A: "agent" };
    const given = { ...config(), env, deviceEnv: { A: "device", D: "device" } };
    const script = 'pwd >"$1"; printf "%s %s %s" "$A" "$D" "$E" >>"$1"';
    const out = join(folder, "out");
    const args = ["-c", script, "sh", out];
    await (await spawnProcess(given, { command: "/bin/sh", args })).wait(forever());
    expect(readFileSync(out, "utf8")).toBe(`${join(folder, "web")}\nagent device `);
    const own = { PATH: "/usr/bin:/bin", E: "own" };
    await (await spawnProcess(given, { command: "/bin/sh", args, cwd: folder, env: own })).wait(forever());
    expect(readFileSync(out, "utf8")).toBe(`${folder}\n  own`);
  });

  it("that cannot be started may be tried again, unless the task itself is wrong", async () => {
    const failed = async (work: Promise<unknown>): Promise<unknown> => work.catch((reason: unknown) => reason);
    const gone = taskConfig({ allocDir: join(folder, "nowhere") });
    expect(await failed(spawnProcess(gone, { command: "/bin/true" }))).toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE",
      message: expect.stringMatching(/^start task: .*ENOENT/) as string,
      recoverable: true,
    });
    const stdoutPath = join(folder, "nowhere");
    expect(await failed(spawnProcess({ ...config(), stdoutPath }, { command: "/bin/true" }))).toMatchObject({
      message: `start task: output ${stdoutPath} cannot be opened`,
      recoverable: true,
    });
    expect(await failed(spawnProcess(config(), { command: "true" }))).toMatchObject({
      message: "start task: command true is no absolute path",
      recoverable: false,
    });
    const lost = { config: config(), process: undefined, alive: false };
    for (const state of [null, {}, { record: 1 }]) {
      expect(await failed(recoverProcess({ ...lost, state: state as never }))).toMatchObject({
        message: "recover task: the state names no exit record",
        recoverable: false,
      });
    }
    const task = await sh("sleep 60");
    expect(await failed(task.stop(0, "SIGNOT"))).toMatchObject({
      message: "unknown signal SIGNOT",
      recoverable: false,
    });
    expect(() => task.signal?.("toString")).toThrow("unknown signal toString");
    await task.stop(0, "SIGTERM");
    expect(await task.wait(forever())).toEqual({ exitCode: 137, signal: 9, oomKilled: false });
  });

  it("need not be waited for to its end, and is looked at by the clock", async () => {
    const clock = new ManualClock();
    const task = await spawnProcess(config(), { command: "/bin/sleep", args: ["60"], clock });
    const left = new AbortController();
    const wait = task.wait(left.signal).catch((reason: unknown) => reason);
    expect(clock.pending).toHaveLength(1);
    left.abort(new Error("left"));
    expect(await wait).toMatchObject({ message: "left" });
    expect(clock.pending).toEqual([]);
    let stopped = false;
    const stop = task.stop(0, "").then(() => (stopped = true));
    await vi.waitFor(
      async () => {
        await clock.advance(100);
        expect(stopped).toBe(true);
      },
      { timeout: 10_000 },
    );
    await stop;
  });

  it("tells what it uses while it runs, and its number", async () => {
    const task = await sh("exec sleep 60");
    expect(task.attributes?.()).toEqual({ pid: String(task.pid) });
    const seen: TaskResourceUsage[] = [];
    for await (const sample of task.stats?.(100, forever()) ?? []) {
      seen.push(sample);
      break;
    }
    expect(seen[0]?.ResourceUsage?.MemoryStats?.RSS).toBeGreaterThan(0);
    await task.stop(0, "");
  });

  it("that is stopped before its shell can trap the signal was ended by that signal", async () => {
    // A process without the shell around it, as in the first moments of a task.
    const child = spawn("/bin/sleep", ["60"], { stdio: "ignore", detached: true });
    const process = processIdentity(child.pid as number);
    const state = { record: join(folder, "record") };
    const task = await recoverProcess({ config: config(), state, process, alive: true });
    await task.stop(20_000, "SIGTERM");
    expect(await task.wait(forever())).toEqual({ exitCode: 143, signal: 15, oomKilled: false });
  });

  it("is stopped by SIGINT when the job names no signal", async () => {
    const task = await sh("trap 'exit 5' INT; echo ready >ready; while :; do sleep 0.02; done");
    await vi.waitFor(() => expect(existsSync(join(folder, "web/ready"))).toBe(true), { timeout: 10_000 });
    await task.stop(20_000, "");
    expect(await task.wait(forever())).toMatchObject({ exitCode: 5 });
  });

  it("tells its usage until it ends", async () => {
    const child = spawn("/bin/sleep", ["60"], { stdio: "ignore" });
    const identity = processIdentity(child.pid as number);
    if (identity === undefined) throw new Error("there is no such process");
    const seen: unknown[] = [];
    for await (const sample of processStats(identity, 100, forever(), systemClock)) {
      seen.push(sample);
      child.kill("SIGKILL");
    }
    expect(seen.length).toBeGreaterThan(0);
  });
});

describe("host and plugin", () => {
  it("say so when nobody listens at a TCP address", async () => {
    const reattach = { protocol: "grpc", network: "tcp", address: "127.0.0.1:1" } as const;
    await expect(connectPlugin({ reattach })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_START",
      kind: "connect",
    });
  });

  it("keep a fingerprint open whose driver throws something odd, and take an interval of 0 for a second", async () => {
    const driver = new MemoryDriver();
    const intervals: number[] = [];
    const taskStats = driver.taskStats.bind(driver);
    Object.assign(driver, {
      fingerprint: () => ({
        [Symbol.asyncIterator]: () => ({
          // oxlint-disable-next-line typescript/prefer-promise-reject-errors
          next: () => Promise.reject("no error at all"),
        }),
      }),
      taskStats: (id: string, ms: number, signal: AbortSignal) => {
        intervals.push(ms);
        return taskStats(id, ms, signal);
      },
    });
    await using pair = await connected(driver);
    for await (const print of pair.client.fingerprint(forever())) {
      expect(print).toMatchObject({ health: "unhealthy", error: "no error at all" });
      break;
    }
    await pair.client.startTask(taskConfig());
    for await (const _ of pair.client.taskStats(taskConfig().id, 0, forever())) break;
    expect(intervals).toEqual([1_000]);
  });
});
