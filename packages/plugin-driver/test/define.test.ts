import { spawn } from "node:child_process";
import { ManualClock } from "@outrider/backoff/testing";
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  type ConfigOf,
  ConfigError,
  decodeMsgpack,
  defineDriver,
  type DriverPlugin,
  type ExitResult,
  type Fingerprint,
  type RunningTask,
  schema,
} from "../src/index.ts";
import { encodeConfig } from "../src/host/index.ts";
import { isAlive, processIdentity, recoverProcess, spawnProcess } from "../src/serve/index.ts";
import { SAMPLE, taskConfig, untilAborted } from "./support/memory-driver.ts";

const failure = async (work: Promise<unknown>): Promise<{ code?: string; message: string }> => {
  try {
    await work;
  } catch (reason) {
    return reason as Error;
  }
  throw new Error("no failure");
};

describe("a typed schema", () => {
  const whole = schema.object({
    image: schema.string().required(),
    weight: schema.number().default(0.1),
    size: schema.bigint(),
    on: schema.bool(),
    free: schema.any(),
    args: schema.list(schema.string()),
    tags: schema.set(schema.string()),
    env: schema.map(schema.number()),
    labels: schema.blockAttrs(schema.string()),
    auth: schema.block({ user: schema.string().required() }),
    mounts: schema.blockList({ path: schema.string().required() }, { min: 0, max: 2 }),
    ports: schema.blockMap("name", { port: schema.number().required() }),
    text: schema.string().default("${x} %{y}"),
  });

  it("infers what the driver reads, and reads what the agent encodes", () => {
    const input = {
      image: "a",
      size: "9223372036854775808",
      on: "true",
      free: [1, "x"],
      args: ["-x", 1],
      tags: ["b", "a"],
      env: { A: "0.25", B: 3 },
      labels: [{ l: 1 }],
      auth: { user: "u" },
      mounts: [{ path: "/a" }],
      ports: [{ http: { port: 80 } }],
    };
    const value = whole.read(decodeMsgpack(encodeConfig(whole.spec(), input)));
    expectTypeOf(value).toEqualTypeOf<ConfigOf<typeof whole>>();
    expectTypeOf(value.image).toEqualTypeOf<string>();
    expectTypeOf(value.on).toEqualTypeOf<boolean | undefined>();
    expectTypeOf(value.ports).toEqualTypeOf<Readonly<Record<string, { readonly port: number }>>>();
    expect(value).toEqual({
      image: "a",
      weight: 0.1,
      size: 9223372036854775808n,
      on: true,
      free: [1, "x"],
      args: ["-x", "1"],
      tags: ["a", "b"],
      env: { A: 0.25, B: 3 },
      labels: { l: "1" },
      auth: { user: "u" },
      mounts: [{ path: "/a" }],
      ports: { http: { port: 80 } },
      text: "${x} %{y}",
    });
  });

  it("reads absent parts as undefined or empty", () => {
    const value = whole.read(decodeMsgpack(encodeConfig(whole.spec(), { image: "a" })));
    expect(value).toMatchObject({ weight: 0.1, mounts: [], ports: {}, text: "${x} %{y}" });
    expect([value.size, value.on, value.free, value.args, value.labels, value.auth]).toEqual(Array(6).fill(undefined));
    expect(whole.read({ image: "a", weight: "7", size: 3 })).toMatchObject({ weight: 7, size: 3n });
  });

  it.each<[object | null, string]>([
    [{}, "config.image: a value is required"],
    [{ image: 1 }, "config.image: a string is required, but have 1"],
    [{ image: "a", weight: "x" }, "config.weight: a number below 2^53"],
    [{ image: "a", weight: 2n ** 60n }, "config.weight: a number below 2^53"],
    [{ image: "a", size: "1.5" }, "config.size: a whole number"],
    [{ image: "a", on: 1 }, "config.on: a bool"],
    [{ image: "a", args: "x" }, "config.args: a list"],
    [{ image: "a", args: ["x", 1] }, "config.args[1]: a string"],
    [{ image: "a", env: [] }, "config.env: a map"],
    [{ image: "a", mounts: 1 }, "config.mounts: a list of blocks"],
    [{ image: "a", ports: [] }, "config.ports: labelled blocks"],
    [{ image: "a", ports: { http: null } }, 'config.ports["http"]: a block'],
    [null, "config: a block is required"],
  ])("refuses a value of the wrong kind (%#)", (input, message) => {
    expect(() => whole.read(input)).toThrow(ConfigError);
    expect(() => whole.read(input)).toThrow(message);
  });

  it("of bytes that are no msgpack is an unrecoverable failure", () => {
    expect(() => decodeMsgpack(new Uint8Array([0xc1]))).toThrow("failed to decode driver config");
    expect(decodeMsgpack(new Uint8Array())).toEqual({});
    expect(decodeMsgpack(encodeConfig(schema.object({ a: schema.any() }).spec(), { a: { b: [2 ** 40] } }))).toEqual({
      a: { b: [2 ** 40] },
    });
  });
});

interface Control {
  readonly driver: DriverPlugin;
  readonly clock: ManualClock;
  end: (result: ExitResult) => void;
  fail: (reason: unknown) => void;
  readonly calls: string[];
}

function controlled(parts: Partial<RunningTask<string>> = {}, more: object = {}): Control {
  const calls: string[] = [];
  const clock = new ManualClock();
  const control: Control = { driver: undefined as never, clock, calls, end: () => undefined, fail: () => undefined };
  const task = (): RunningTask<string> => ({
    state: "s",
    wait: () =>
      new Promise((resolve, reject) => {
        control.end = resolve;
        control.fail = reject;
      }),
    stop: (timeoutMs, name) => {
      calls.push(`stop ${timeoutMs} ${name}`);
      control.end({ exitCode: 0, signal: 0, oomKilled: false });
      return Promise.resolve();
    },
    ...parts,
  });
  const driver = defineDriver(
    {
      name: "controlled",
      version: "1.0.0",
      taskConfig: schema.object({ a: schema.string() }),
      start: (_config, { a }) => {
        calls.push(`start ${a}`);
        return Promise.resolve(task());
      },
      recover: ({ state, alive }) => {
        calls.push(`recover ${state} ${alive}`);
        return Promise.resolve(task());
      },
      ...more,
    },
    { clock },
  );
  return Object.assign(control, { driver });
}

describe("a defined driver", () => {
  it("has sound defaults for everything that it was not told", async () => {
    const { driver, clock } = controlled();
    expect(await driver.info()).toEqual({
      name: "controlled",
      type: "driver",
      version: "1.0.0",
      apiVersions: ["v0.1.0"],
    });
    expect(await driver.configSchema()).toEqual({ kind: "object", attributes: {} });
    expect((await driver.capabilities()).fsIsolation).toBe("none");
    await driver.setConfig(new Uint8Array());
    await driver.init?.();
    await driver.shutdown?.();
    const stop = new AbortController();
    const seen: Fingerprint[] = [];
    const watch = (async () => {
      for await (const fingerprint of driver.fingerprint(stop.signal)) seen.push(fingerprint);
    })().catch(() => undefined);
    await clock.flush();
    await clock.advance(30_000);
    expect(seen).toHaveLength(2);
    expect(seen[0]).toMatchObject({ health: "healthy" });
    const events = driver.taskEvents(stop.signal)[Symbol.asyncIterator]().next();
    stop.abort();
    await watch;
    expect(await events).toEqual({ done: true, value: undefined });
  });

  it("passes on what it was told", async () => {
    const calls: unknown[] = [];
    const { driver } = controlled(
      {},
      {
        config: schema.object({ x: schema.string() }),
        capabilities: { exec: true },
        configure: (config: unknown, nomad: unknown) => void calls.push(config, nomad),
        init: () => Promise.resolve(void calls.push("init")),
        shutdown: () => Promise.resolve(void calls.push("shutdown")),
        fingerprint: () => ({ health: "undetected", healthDescription: "no" }),
        events: async function* () {
          yield { message: "m" };
        },
      },
    );
    await driver.setConfig(encodeConfig((await driver.configSchema()) as never, { x: "1" }));
    await driver.init?.();
    await driver.shutdown?.();
    expect(calls).toEqual([{ x: "1" }, undefined, "init", "shutdown"]);
    expect((await driver.capabilities()).exec).toBe(true);
    for await (const { health } of driver.fingerprint(AbortSignal.timeout(1000))) {
      expect(health).toBe("undetected");
      break;
    }
    const messages: string[] = [];
    for await (const { message } of driver.taskEvents(AbortSignal.timeout(1000))) messages.push(message);
    expect(messages).toEqual(["m"]);
  });

  it("keeps one result for all waiters until the task is destroyed", async () => {
    const control = controlled({ destroy: () => Promise.resolve() });
    const { driver } = control;
    const config = taskConfig();
    const { handle } = await driver.startTask(config);
    expect((await failure(driver.startTask(config))).message).toContain("already started");
    const stop = new AbortController();
    const left = failure(driver.waitTask(config.id, stop.signal));
    stop.abort(new Error("left"));
    expect((await left).message).toBe("left");
    expect((await failure(driver.destroyTask(config.id, false))).message).toContain("still runs");
    const waits = [driver.waitTask(config.id), driver.waitTask(config.id, AbortSignal.timeout(5000))];
    control.fail("the machine went away");
    const lost = { exitCode: -1, signal: 0, oomKilled: false, error: "the machine went away" };
    expect(await Promise.all(waits)).toEqual([lost, lost]);
    await driver.stopTask(config.id, 1000, "");
    expect((await driver.inspectTask(config.id)).status).toMatchObject({ state: "exited", exitResult: lost });
    await driver.recoverTask(handle);
    await driver.destroyTask(config.id, false);
    await driver.destroyTask(config.id, true);
    expect((await failure(driver.destroyTask(config.id, false))).code).toBe("ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND");
    expect(control.calls).toEqual(["start undefined"]);
  });

  it("destroys a running task by force", async () => {
    const { driver, calls } = controlled();
    await driver.startTask(taskConfig());
    await driver.destroyTask(taskConfig().id, true);
    expect(calls.at(-1)).toBe("stop 0 ");
  });

  it("says what a task cannot do", async () => {
    const { driver } = controlled();
    const { id } = taskConfig();
    await driver.startTask(taskConfig());
    const signal = new AbortController().signal;
    const next = (source: AsyncIterable<unknown> | undefined): Promise<unknown> =>
      (source as AsyncIterable<unknown>)[Symbol.asyncIterator]().next();
    for (const [call, code] of [
      [driver.signalTask(id, "SIGHUP"), "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED"],
      [driver.execTask(id, ["a"], 1), "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED"],
      [
        next(driver.execTaskStreaming?.(id, { command: ["a"], tty: false }, (async function* () {})(), signal)),
        "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED",
      ],
      [next(driver.taskStats(id, 1, signal)), "ERR_OUTRIDER_PLUGIN_STATS_NOT_IMPLEMENTED"],
    ] as const) {
      expect((await failure(call)).code).toBe(code);
    }
  });

  it("offers what a task can do, and ends its samples with it", async () => {
    const network = { portMap: {}, address: "1.2.3.4", autoAdvertise: false };
    let breaks: unknown;
    const control = controlled({
      network,
      attributes: () => ({ pid: "1" }),
      signal: (name) => Promise.resolve(void control.calls.push(name)),
      exec: () =>
        Promise.resolve({
          stdout: new Uint8Array(),
          stderr: new Uint8Array(),
          exitResult: { exitCode: 0, signal: 0, oomKilled: false },
        }),
      execStreaming: async function* () {
        yield { exited: { exitCode: 0, signal: 0, oomKilled: false } };
      },
      stats: async function* (_ms, signal) {
        yield SAMPLE;
        if (breaks !== undefined) throw breaks;
        await untilAborted(signal);
        throw new Error("because it ended");
      },
    });
    const { driver } = control;
    const { id } = taskConfig();
    expect((await driver.startTask(taskConfig())).network).toEqual(network);
    expect(await driver.inspectTask(id)).toMatchObject({
      network,
      status: { state: "running", attributes: { pid: "1" } },
    });
    await driver.signalTask(id, "SIGHUP");
    expect((await driver.execTask(id, ["a"], 1)).exitResult.exitCode).toBe(0);
    const frames = driver.execTaskStreaming?.(
      id,
      { command: ["a"], tty: false },
      (async function* () {})(),
      AbortSignal.timeout(1),
    );
    for await (const frame of frames ?? []) expect(frame.exited?.exitCode).toBe(0);
    breaks = new Error("broken");
    const drain = async (): Promise<number> => {
      let count = 0;
      for await (const _ of driver.taskStats(id, 1, new AbortController().signal)) count++;
      return count;
    };
    expect((await failure(drain())).message).toBe("broken");
    breaks = undefined;
    const counted = drain();
    await new Promise((resolve) => setImmediate(resolve));
    control.end({ exitCode: 0, signal: 0, oomKilled: false });
    expect(await counted).toBe(1);
    await driver.waitTask(id);
    expect(await drain()).toBe(0);
  });

  it("recovers a task by its state, and refuses the state of another driver", async () => {
    const first = controlled({ pid: process.pid });
    const { handle } = await first.driver.startTask(taskConfig());
    const second = controlled();
    await second.driver.recoverTask(handle);
    expect(second.calls).toEqual(["recover s true"]);
    for (const text of ["no json", "1"]) {
      const foreign = { ...handle, driverState: new TextEncoder().encode(text) };
      expect((await failure(controlled().driver.recoverTask(foreign))).message).toContain("not of this driver");
    }
  });

  it("ends the process of a task that cannot be recovered, and no stranger", async () => {
    const child = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
    const identity = processIdentity(child.pid as number);
    const { driver } = controlled({ pid: child.pid as number });
    const { handle } = await driver.startTask(taskConfig());
    const other = defineDriver({
      name: "controlled",
      version: "1.0.0",
      taskConfig: schema.object({}),
      start: () => Promise.reject(new Error("no")),
      recover: () => Promise.reject(new Error("cannot")),
    });
    expect(identity !== undefined && isAlive(identity)).toBe(true);
    await other.killLeftovers?.(handle);
    expect(identity !== undefined && isAlive(identity)).toBe(false);
    await other.killLeftovers?.(handle);
    const without = { ...handle, driverState: new TextEncoder().encode('{"state":1}') };
    await other.killLeftovers?.(without);
  });
});

describe("a schema", () => {
  it("refuses an attribute of any type in a blockMap, which ends a stock agent", () => {
    for (const shape of [
      { free: schema.any() },
      { free: schema.list(schema.any()).default([]) },
      { inner: schema.block({ free: schema.any().required() }) },
      { inner: schema.blockAttrs(schema.any()) },
    ]) {
      expect(() => schema.blockMap("driver", shape)).toThrow(/^driver\.(free|inner): type .*any.* is not possible/);
    }
    expect(schema.blockMap("driver", { many: schema.list(schema.string()) }).spec("d").kind).toBe("blockMap");
  });
});

describe("a task that is one process", () => {
  it("is refused with a relative command, an unknown signal, or an output that nobody reads", async () => {
    expect((await failure(spawnProcess(taskConfig(), { command: "date" }))).message).toContain("no absolute path");
    const stdoutPath = "/no/such/fifo";
    expect((await failure(spawnProcess(taskConfig({ stdoutPath }), { command: "/bin/date" }))).message).toContain(
      "cannot be opened",
    );
    const gone = taskConfig({ allocDir: "/no/such" });
    expect((await failure(spawnProcess(gone, { command: "/bin/date" }))).message).toContain("start task: ");
  });

  it("is lost when it left no record, and cannot be recovered without one", async () => {
    const process = { pid: 2 ** 30, startTime: "1", bootId: "b" };
    const known = { config: taskConfig(), process, alive: false };
    const lost = await recoverProcess({ ...known, state: { record: "/no/such/record" } });
    expect(await lost.wait(new AbortController().signal)).toMatchObject({
      exitCode: -1,
      error: expect.any(String) as string,
    });
    await lost.stop(10, "SIGTERM");
    expect((await failure(lost.stop(0, "SIGBOGUS"))).message).toBe("unknown signal SIGBOGUS");
    expect(lost.attributes?.()).toEqual({ pid: String(2 ** 30) });
    expect((await failure(recoverProcess({ ...known, state: {} as never }))).message).toContain("no exit record");
  });
});
