import { fromBinary } from "@bufbuild/protobuf";
import { ManualClock } from "@outrider/backoff/testing";
import { describe, expect, it, vi } from "vitest";
import { SetConfigRequestSchema } from "../src/gen/base_pb.js";
import { StartTaskResponseSchema } from "../src/gen/driver_pb.js";
import { createDriverClient } from "../src/host/index.ts";
import { NotImplementedError, RecoverableError, TaskNotFoundError } from "../src/index.ts";
import { createDriverHandlers } from "../src/serve/index.ts";
import { carried, carrierTo } from "./support/carried.ts";
import { MemoryDriver, SAMPLE, taskConfig } from "./support/memory-driver.ts";

const PACKAGE = "/hashicorp.nomad.plugins.drivers.proto.Driver";
const never = new AbortController().signal;

describe("the handlers of a driver", () => {
  it("are all methods of the base and driver services, by the paths of gRPC", () => {
    const { calls, streams } = createDriverHandlers(new MemoryDriver());
    expect(
      Object.keys(streams)
        .map((path) => path.slice(PACKAGE.length + 1))
        .sort(),
    ).toEqual(["ExecTaskStreaming", "Fingerprint", "TaskEvents", "TaskStats"]);
    expect(Object.keys(calls).filter((path) => path.startsWith(`${PACKAGE}/`))).toHaveLength(14);
    expect(Object.keys(calls).filter((path) => !path.startsWith(PACKAGE))).toEqual([
      "/hashicorp.nomad.plugins.base.proto.BasePlugin/PluginInfo",
      "/hashicorp.nomad.plugins.base.proto.BasePlugin/ConfigSchema",
      "/hashicorp.nomad.plugins.base.proto.BasePlugin/SetConfig",
    ]);
  });

  it("refuse bytes that are no message, alone or in a stream", async () => {
    const { calls, streams } = createDriverHandlers(new MemoryDriver());
    const rubbish = new Uint8Array([0xff, 0xff, 0xff]);
    await expect(calls[`${PACKAGE}/StartTask`]?.(rubbish, never)).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_PROTOCOL",
    });
    const input = (async function* () {
      yield rubbish;
    })();
    const opened = streams[`${PACKAGE}/ExecTaskStreaming`]?.(new Uint8Array(), never, input);
    await expect(opened?.[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_PROTOCOL",
    });
  });

  it("let failures through as they are", async () => {
    const driver = new MemoryDriver();
    const { client } = await carried(driver);
    await expect(client.waitTask("nobody")).rejects.toBeInstanceOf(TaskNotFoundError);
    vi.spyOn(driver, "startTask").mockRejectedValueOnce(new RecoverableError("later", true));
    await expect(client.startTask(taskConfig())).rejects.toMatchObject({ message: "later", recoverable: true });
    Object.assign(driver, { init: () => Promise.reject(new NotImplementedError("Init")) });
    await client.init();
  });

  it.each([true, false])("repeat the config of a start only when they are asked to: %s", async (repeatConfig) => {
    const carrier = carrierTo(new MemoryDriver(), { repeatConfig });
    const answers: Uint8Array[] = [];
    const client = createDriverClient({
      ...carrier,
      call: async (...args) => {
        const answer = await carrier.call(...args);
        answers.push(answer);
        return answer;
      },
    });
    const config = taskConfig();
    const { handle } = await client.startTask(config);
    const answer = fromBinary(StartTaskResponseSchema, answers[0] as Uint8Array);
    expect(answer.handle?.config !== undefined).toBe(repeatConfig);
    expect(handle.config).toEqual(config);
    await client.recoverTask(handle);
  });

  it("abort the driver's stream when its reader leaves, and when the call is cancelled", async () => {
    const driver = new MemoryDriver();
    const { client } = await carried(driver);
    const { handle } = await client.startTask(taskConfig());
    const signals: AbortSignal[] = [];
    const real = driver.taskStats.bind(driver);
    vi.spyOn(driver, "taskStats").mockImplementation((id, intervalMs, signal) => {
      signals.push(signal);
      return real(id, intervalMs, signal);
    });
    for await (const sample of client.taskStats(handle.config.id, 1000, never)) {
      expect(sample).toEqual(SAMPLE);
      break;
    }
    const control = new AbortController();
    const stream = client.taskStats(handle.config.id, 1000, control.signal)[Symbol.asyncIterator]();
    await stream.next();
    control.abort();
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true]);
    for (const { reason } of signals) {
      expect(reason).toMatchObject({ name: "AbortError", message: "the host cancelled the call" });
    }
  });

  it("wait for a reader that is slower than the driver", async () => {
    const driver = new MemoryDriver();
    let written = 0;
    vi.spyOn(driver, "taskStats").mockImplementation(async function* () {
      for (; written < 1_000; written++) yield SAMPLE;
    });
    const { client } = await carried(driver);
    const stream = client.taskStats("x", 1000, never)[Symbol.asyncIterator]();
    await stream.next();
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toBeLessThan(40);
    let rest = 1;
    while ((await stream.next()).done !== true) rest++;
    expect(rest).toBe(1_000);
  });
});

describe("a client over a carrier", () => {
  it("fails a call whose answer is no message", async () => {
    const client = createDriverClient({
      ...carrierTo(new MemoryDriver()),
      call: async () => new Uint8Array([0xff]),
    });
    await expect(client.capabilities()).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_PROTOCOL" });
  });

  it("names the plugin's own spelling of the API version with its settings, asked for once", async () => {
    const asked: string[] = [];
    const versions: string[] = [];
    const settings = (apiVersions: readonly string[]): ReturnType<typeof createDriverClient> => {
      const driver = new MemoryDriver();
      driver.info = () => {
        asked.push("info");
        return Promise.resolve({ name: "memory", type: "driver", version: "1.0.0", apiVersions });
      };
      const carrier = carrierTo(driver);
      return createDriverClient({
        ...carrier,
        call: (path, request, o) => {
          if (path.endsWith("/SetConfig")) versions.push(fromBinary(SetConfigRequestSchema, request).pluginApiVersion);
          return carrier.call(path, request, o);
        },
      });
    };
    const client = settings(["v0.2.0", "v0.1.0"]);
    await client.setConfig(new Uint8Array());
    await client.setConfig(new Uint8Array());
    expect([asked, versions]).toEqual([["info"], ["v0.1.0", "v0.1.0"]]);
    await settings(["0.1.0"]).setConfig(new Uint8Array());
    await settings([]).setConfig(new Uint8Array());
    expect(versions.slice(2)).toEqual(["0.1.0", ""]);
  });

  it("gives each call its limit, unless it waits for a task", async () => {
    const limits: Record<string, number | undefined> = {};
    const carrier = carrierTo(new MemoryDriver());
    const client = createDriverClient(
      {
        ...carrier,
        call: (path, request, o) => {
          limits[path.slice(path.lastIndexOf("/") + 1)] = o.timeoutMs;
          return carrier.call(path, request, o);
        },
      },
      { timeouts: { shortMs: 7 }, clock: new ManualClock() },
    );
    const { handle } = await client.startTask(taskConfig());
    await client.inspectTask(handle.config.id);
    await client.execTask(handle.config.id, ["x"], 3_000);
    await client.recoverTask(handle);
    await client.signalTask(handle.config.id, "SIGHUP");
    for (const call of ["info", "configSchema", "taskConfigSchema", "capabilities", "init", "shutdown"] as const) {
      await client[call]?.();
    }
    await client.setConfig(new Uint8Array());
    await client.stopTask(handle.config.id, 5_000, "");
    await client.waitTask(handle.config.id);
    await client.destroyTask(handle.config.id, true);
    expect(limits).toEqual({
      StartTask: undefined,
      PluginInfo: 7,
      ConfigSchema: 7,
      SetConfig: 7,
      TaskConfigSchema: 7,
      Capabilities: 7,
      Init: 7,
      SignalTask: 7,
      InspectTask: 7,
      Shutdown: 2_000,
      ExecTask: 63_000,
      RecoverTask: 120_000,
      StopTask: 65_000,
      WaitTask: undefined,
      DestroyTask: 120_000,
    });
  });
});
