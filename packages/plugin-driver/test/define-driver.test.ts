/** What `defineDriver` adds to a definition, seen from the agent and from the author. */
import { ManualClock } from "@outrider/backoff/testing";
import { describe, expect, it } from "vitest";
import {
  defineDriver,
  type DriverDefinition,
  type DriverPlugin,
  type ExitResult,
  type RecoveredTask,
  type RunningTask,
  schema,
  type TaskHandle,
} from "../src/index.ts";
import { encodeConfig } from "../src/host/index.ts";
import { EXITED, SAMPLE, taskConfig } from "./support/memory-driver.ts";

const failure = async (work: Promise<unknown>): Promise<Error & { code?: string; recoverable?: boolean }> => {
  try {
    await work;
  } catch (reason) {
    return reason as Error;
  }
  throw new Error("no failure");
};
const settled = async (work: Promise<unknown>): Promise<boolean> => {
  let done = false;
  void work.then(() => (done = true)).catch(() => (done = true));
  await new Promise((resolve) => setImmediate(resolve));
  return done;
};
const taskSchema = schema.object({ a: schema.string() });
type Definition = DriverDefinition<ReturnType<typeof schema.object>, typeof taskSchema, string>;
const { id } = taskConfig();

interface Bench {
  readonly driver: DriverPlugin;
  readonly clock: ManualClock;
  readonly calls: unknown[];
  /** The signal that the author's wait got. */
  waited: AbortSignal | undefined;
  end(result?: ExitResult): void;
}

function bench(task: Partial<RunningTask<string>> = {}, more: Partial<Definition> = {}): Bench {
  const clock = new ManualClock();
  const calls: unknown[] = [];
  let end: (result: ExitResult) => void = () => undefined;
  const made: Bench = {
    driver: undefined as never,
    clock,
    calls,
    waited: undefined,
    end: (result = EXITED) => end(result),
  };
  const running = (): RunningTask<string> => ({
    state: "s",
    wait: (signal) => {
      made.waited = signal;
      return new Promise((resolve) => (end = resolve));
    },
    stop: (ms, name) => {
      calls.push(`stop ${ms} ${name}`);
      return Promise.resolve();
    },
    ...task,
  });
  const driver = defineDriver(
    {
      name: "d",
      version: "1.2.3",
      taskConfig: taskSchema,
      start: () => Promise.resolve(running()),
      recover: () => Promise.resolve(running()),
      ...more,
    } as Definition,
    { clock },
  );
  return Object.assign(made, { driver });
}

describe("a driver without words of its own", () => {
  it("is healthy, tells its version, and can what every driver can", async () => {
    const { driver } = bench();
    const [print] = [await driver.fingerprint(new AbortController().signal)[Symbol.asyncIterator]().next()];
    expect(print.value).toEqual({
      attributes: { "driver.d.version": { value: "1.2.3" } },
      health: "healthy",
      healthDescription: "Healthy",
    });
    expect(await driver.capabilities()).toEqual({
      sendSignals: true,
      exec: false,
      fsIsolation: "none",
      networkIsolationModes: ["host"],
      mustCreateNetwork: false,
      mountConfigs: "none",
      disableLogCollection: false,
      dynamicWorkloadUsers: false,
    });
    expect(await driver.taskConfigSchema()).toEqual(taskSchema.spec());
  });

  it("takes an empty configuration, and no other", async () => {
    const got: unknown[] = [];
    const { driver } = bench({}, { configure: (config, nomad) => void got.push(config, nomad) });
    await driver.setConfig(new Uint8Array());
    const nomad = { clientMinPort: 1, clientMaxPort: 2 };
    await driver.setConfig(new Uint8Array([0x80]), nomad);
    expect(got).toEqual([{}, undefined, {}, nomad]);
    await bench().driver.setConfig(new Uint8Array());
    expect((await failure(driver.setConfig(new Uint8Array([0x90])))).message).toBe(
      "config: a block is required, but have []",
    );
  });

  it("changes of its own only what it says", async () => {
    const { driver } = bench({}, { capabilities: { exec: true }, fingerprint: () => ({ health: "unhealthy" }) });
    expect(await driver.capabilities()).toMatchObject({ exec: true, sendSignals: true, fsIsolation: "none" });
    const print = await driver.fingerprint(new AbortController().signal)[Symbol.asyncIterator]().next();
    expect(print.value).toMatchObject({ health: "unhealthy", attributes: { "driver.d.version": { value: "1.2.3" } } });
  });

  it("fingerprints every 30 s, and not a moment earlier", async () => {
    let asked = 0;
    const { driver, clock } = bench({}, { fingerprint: () => ({ healthDescription: String(++asked) }) });
    const prints = driver.fingerprint(new AbortController().signal)[Symbol.asyncIterator]();
    await prints.next();
    const second = prints.next();
    await clock.advance(29_999);
    expect(asked).toBe(1);
    await clock.advance(1);
    expect((await second).value).toMatchObject({ healthDescription: "2" });
  });
});

describe("a start", () => {
  it("gives the author the task, its settings and the caller's signal", async () => {
    const seen: unknown[] = [];
    const b = bench(
      {},
      {
        start: (config, settings, signal) => {
          seen.push(config, settings, signal);
          return Promise.reject(new Error("enough"));
        },
      },
    );
    const config = taskConfig({ msgpackDriverConfig: encodeConfig(taskSchema.spec(), { a: "x" }) });
    const { signal } = new AbortController();
    await failure(b.driver.startTask(config, signal));
    expect(seen).toEqual([config, { a: "x" }, signal]);
    await failure(b.driver.startTask(config));
    expect((seen[5] as AbortSignal).aborted).toBe(false);
  });

  it("answers with a running handle of version 1 that holds the author's state", async () => {
    const b = bench();
    const config = taskConfig();
    const { handle, ...rest } = await b.driver.startTask(config);
    expect(handle).toMatchObject({ version: 1, state: "running", config });
    expect(JSON.parse(new TextDecoder().decode(handle.driverState))).toEqual({ state: "s" });
    expect(rest).toEqual({});
  });

  it("of the same id is refused while one is under way, and allowed again after it failed", async () => {
    let fail: (reason: Error) => void = () => undefined;
    let starts = 0;
    const b = bench(
      {},
      {
        start: () => {
          starts++;
          return new Promise((_resolve, reject) => (fail = reject));
        },
      },
    );
    const first = failure(b.driver.startTask(taskConfig()));
    const second = await failure(b.driver.startTask(taskConfig()));
    expect(second).toMatchObject({ message: `start task: task ${id} is already started`, recoverable: false });
    expect(starts).toBe(1);
    fail(new Error("no"));
    expect((await first).message).toBe("no");
    void b.driver.startTask(taskConfig()).catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(starts).toBe(2);
    fail(new Error("end of the test"));
  });
});

describe("a recovery", () => {
  const handleOf = (state: string): TaskHandle => ({
    version: 1,
    config: taskConfig(),
    state: "running",
    driverState: new TextEncoder().encode(state),
  });

  it("gives the author what is known of the task", async () => {
    const seen: (RecoveredTask<string> | AbortSignal)[] = [];
    const recover: Definition["recover"] = (task, signal) => {
      seen.push(task, signal);
      return Promise.reject(new Error("enough"));
    };
    const { driver } = bench({}, { recover });
    const gone = { pid: 2 ** 30, startTime: "1", bootId: "b" };
    const { signal } = new AbortController();
    await failure(driver.recoverTask(handleOf(JSON.stringify({ state: "mine", process: gone })), signal));
    await failure(driver.recoverTask(handleOf('{"state":"mine"}')));
    expect(seen[0]).toEqual({ config: taskConfig(), state: "mine", process: gone, alive: false });
    expect(seen[1]).toBe(signal);
    expect(seen[2]).toEqual({ config: taskConfig(), state: "mine", process: undefined, alive: false });
    expect((seen[3] as AbortSignal).aborted).toBe(false);
  });

  it("of a known task is done already, and one that failed leaves no task", async () => {
    let recovered = 0;
    const b = bench({}, { recover: () => Promise.reject(new Error(`no ${++recovered}`)) });
    const { handle } = await b.driver.startTask(taskConfig());
    await b.driver.recoverTask(handle);
    expect(recovered).toBe(0);
    const other = bench({}, { recover: () => Promise.reject(new Error("no")) });
    await failure(other.driver.recoverTask(handle));
    expect((await failure(other.driver.inspectTask(id))).code).toBe("ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND");
  });

  it.each(["no json", "1", "null", '"text"', ""])("refuses the state %j of another driver for good", async (text) => {
    const { driver } = bench();
    expect(await failure(driver.recoverTask(handleOf(text)))).toMatchObject({
      message: "recover task: the driver state is not of this driver",
      recoverable: false,
    });
    await expect(driver.killLeftovers?.(handleOf(text))).rejects.toThrow("not of this driver");
  });
});

describe("the end of a task", () => {
  it("is waited for by a stop, and a stop of an ended task does nothing", async () => {
    const b = bench();
    await b.driver.startTask(taskConfig());
    const stop = b.driver.stopTask(id, 5_000, "SIGTERM");
    expect(await settled(stop)).toBe(false);
    expect(b.calls).toEqual(["stop 5000 SIGTERM"]);
    b.end();
    await stop;
    await b.driver.stopTask(id, 1, "SIGKILL");
    expect(b.calls).toEqual(["stop 5000 SIGTERM"]);
  });

  it("need not be waited for by a caller that goes away", async () => {
    const b = bench({ stop: () => new Promise(() => undefined) });
    await b.driver.startTask(taskConfig());
    for (const call of [
      (signal: AbortSignal) => b.driver.stopTask(id, 1, "", signal),
      (signal: AbortSignal) => b.driver.destroyTask(id, true, signal),
      (signal: AbortSignal) => b.driver.waitTask(id, signal),
    ]) {
      const left = new AbortController();
      const work = failure(call(left.signal));
      left.abort(new Error("left"));
      expect((await work).message).toBe("left");
    }
    const after = bench();
    await after.driver.startTask(taskConfig());
    for (const call of [
      (signal: AbortSignal) => after.driver.stopTask(id, 1, "", signal),
      (signal: AbortSignal) => after.driver.destroyTask(id, true, signal),
    ]) {
      const left = new AbortController();
      const work = failure(call(left.signal));
      await new Promise((resolve) => setImmediate(resolve));
      left.abort(new Error("left"));
      expect((await work).message).toBe("left");
    }
  });

  it("keeps the times of the clock and shows them", async () => {
    const b = bench();
    const startedAtMs = b.clock.now();
    await b.driver.startTask(taskConfig());
    await b.clock.advance(1_500);
    expect(await b.driver.inspectTask(id)).toStrictEqual({
      status: { id, name: "web", state: "running", startedAtMs, attributes: {} },
    });
    b.end();
    await b.driver.waitTask(id);
    await b.clock.advance(10_000);
    expect(await b.driver.inspectTask(id)).toStrictEqual({
      status: {
        id,
        name: "web",
        state: "exited",
        startedAtMs,
        completedAtMs: startedAtMs + 1_500,
        exitResult: EXITED,
        attributes: {},
      },
    });
  });

  it("by force kills at once, frees what is left, and ends the author's wait", async () => {
    const order: string[] = [];
    const b = bench({ destroy: () => Promise.resolve(void order.push(`destroy ${String(b.waited?.aborted)}`)) });
    await b.driver.startTask(taskConfig());
    expect(await failure(b.driver.destroyTask(id, false))).toMatchObject({
      message: `destroy task: task ${id} still runs`,
      recoverable: false,
    });
    expect(b.waited?.aborted).toBe(false);
    const destroy = b.driver.destroyTask(id, true);
    expect(await settled(destroy)).toBe(false);
    expect(b.calls).toEqual(["stop 0 "]);
    b.end();
    await destroy;
    expect(order).toEqual(["destroy false"]);
    expect(b.waited?.aborted).toBe(true);
    expect((await failure(b.driver.waitTask(id))).code).toBe("ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND");
  });

  it("stays with the driver when it cannot be freed", async () => {
    const b = bench({ destroy: () => Promise.reject(new Error("busy")) });
    await b.driver.startTask(taskConfig());
    b.end();
    await b.driver.waitTask(id);
    expect((await failure(b.driver.destroyTask(id, false))).message).toBe("busy");
    expect((await b.driver.inspectTask(id)).status.state).toBe("exited");
  });
});

describe("calls about a task", () => {
  it("reach the author with every argument", async () => {
    const seen: unknown[] = [];
    const b = bench({
      signal: (name) => Promise.resolve(void seen.push(name)),
      exec: (command, ms, signal) => {
        seen.push(command, ms, signal);
        return Promise.resolve({ stdout: new Uint8Array([1]), stderr: new Uint8Array([2]), exitResult: EXITED });
      },
      execStreaming: async function* (request, input, signal) {
        seen.push(request, input, signal);
        yield { exited: EXITED };
      },
      stats: async function* (ms) {
        seen.push(ms);
        yield SAMPLE;
      },
    });
    await b.driver.startTask(taskConfig());
    const { signal } = new AbortController();
    await b.driver.signalTask(id, "SIGHUP");
    expect((await b.driver.execTask(id, ["a", "b"], 7, signal)).stdout).toEqual(new Uint8Array([1]));
    await b.driver.execTask(id, ["c"], 8);
    const request = { command: ["d"], tty: true };
    const input = (async function* () {})();
    for await (const frame of b.driver.execTaskStreaming?.(id, request, input, signal) ?? []) {
      expect(frame).toEqual({ exited: EXITED });
    }
    for await (const sample of b.driver.taskStats(id, 250, signal)) expect(sample).toBe(SAMPLE);
    expect(seen.slice(0, 6)).toEqual(["SIGHUP", ["a", "b"], 7, signal, ["c"], 8]);
    expect((seen[6] as AbortSignal).aborted).toBe(false);
    expect(seen.slice(7)).toEqual([request, input, signal, 250]);
  });

  it("bring the author's events, and none where there is no author of events", async () => {
    const event = { taskId: id, allocId: "a", taskName: "n", timestampMs: 1, message: "pulled", annotations: {} };
    const told: AbortSignal[] = [];
    const b = bench(
      {},
      {
        events: async function* (signal) {
          told.push(signal);
          yield event;
        },
      },
    );
    const { signal } = new AbortController();
    const seen: unknown[] = [];
    for await (const one of b.driver.taskEvents(signal)) seen.push(one);
    expect([seen, told]).toEqual([[event], [signal]]);
    const left = new AbortController();
    const next = bench().driver.taskEvents(left.signal)[Symbol.asyncIterator]().next();
    expect(await settled(next)).toBe(false);
    left.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it("say by name what is not offered, and for which id there is no task", async () => {
    const b = bench();
    await b.driver.startTask(taskConfig());
    expect((await failure(b.driver.signalTask(id, "x"))).message).toBe("driver does not implement SignalTask");
    expect((await failure(b.driver.execTask(id, ["x"], 1))).message).toBe("driver does not implement ExecTask");
    const frames = b.driver.execTaskStreaming?.(
      id,
      { command: [], tty: false },
      (async function* () {})(),
      b.waited as AbortSignal,
    );
    await expect(frames?.[Symbol.asyncIterator]().next()).rejects.toThrow("does not implement ExecTaskStreaming");
    const { signal } = new AbortController();
    for (const call of [
      b.driver.waitTask("x"),
      b.driver.stopTask("x", 1, ""),
      b.driver.destroyTask("x", false),
      b.driver.inspectTask("x"),
      b.driver.signalTask("x", "y"),
      b.driver.execTask("x", ["y"], 1),
      b.driver.taskStats("x", 1, signal)[Symbol.asyncIterator]().next(),
    ]) {
      expect(await failure(call)).toMatchObject({
        code: "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND",
        details: { taskId: "x" },
      });
    }
    await b.driver.destroyTask("x", true);
  });

  it("end with the caller's signal where they are streams", async () => {
    let told: AbortSignal | undefined;
    const b = bench({
      stats: async function* (_ms, signal) {
        told = signal;
        yield SAMPLE;
        await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      },
    });
    await b.driver.startTask(taskConfig());
    const left = new AbortController();
    const samples = b.driver.taskStats(id, 1, left.signal)[Symbol.asyncIterator]();
    await samples.next();
    const next = failure(samples.next());
    left.abort(new Error("left"));
    expect((await next).message).toBe("left");
    expect(told?.aborted).toBe(true);
  });
});
