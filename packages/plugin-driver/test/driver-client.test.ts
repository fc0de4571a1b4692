/** What a host makes of the answers of a driver, message by message. */
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Logger } from "@outrider/foundation";
import { ManualClock } from "@outrider/backoff/testing";
import { describe, expect, it } from "vitest";
import { PluginInfoResponseSchema } from "../src/gen/base_pb.js";
import * as pb from "../src/gen/driver_pb.js";
import { createDriverClient } from "../src/host/index.ts";
import { NotImplementedError } from "../src/index.ts";
import { toTaskStats } from "../src/wire/usage.ts";
import { SAMPLE, taskConfig } from "./support/memory-driver.ts";

type Answer = (request: Uint8Array) => Uint8Array | Error;
const message = <M extends DescMessage>(schema: M, init?: MessageInitShape<M>): Uint8Array =>
  toBinary(schema, create(schema, init));

/** A client whose driver answers what the test says; what it asks is told by method. */
function client(answers: Readonly<Record<string, Answer | Uint8Array>>, samples: readonly Uint8Array[] = []) {
  const asked: [method: string, request: Uint8Array][] = [];
  const told: unknown[] = [];
  const clock = new ManualClock();
  const log = (...parts: unknown[]): void => void told.push(parts);
  const logger: Logger = { trace: log, debug: log, info: log, warn: log, error: log, child: () => logger };
  const driver = createDriverClient(
    {
      call: (path, request) => {
        const method = path.slice(path.lastIndexOf("/") + 1);
        asked.push([method, request]);
        const answer = answers[method];
        const value = typeof answer === "function" ? answer(request) : (answer ?? new Error(`unexpected ${method}`));
        return value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
      },
      stream: async function* (_path, request) {
        asked.push(["stream", request]);
        for (const sample of samples) {
          yield sample;
          await clock.advance(20_000);
        }
      },
    },
    { logger, clock },
  );
  return { driver, asked, told };
}

const failure = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no failure",
    (reason: unknown) => reason,
  );
const config = taskConfig();
const handle = { version: 1, config: { id: config.id }, driverState: new Uint8Array([1]) };
const Result = pb.StartTaskResponse_Result;

describe("a started task", () => {
  it("has the handle and the network of the answer", async () => {
    const network = { portMap: { http: 80 }, addr: "10.0.0.1", autoAdvertise: true };
    const plain = client({ StartTask: message(pb.StartTaskResponseSchema, { handle }) });
    const started = await plain.driver.startTask(config);
    expect(started.handle).toMatchObject({ version: 1, config: { id: config.id }, driverState: new Uint8Array([1]) });
    expect("network" in started).toBe(false);
    const own = client({ StartTask: message(pb.StartTaskResponseSchema, { handle, networkOverride: network }) });
    expect((await own.driver.startTask(config)).network).toEqual({
      portMap: { http: 80 },
      address: "10.0.0.1",
      autoAdvertise: true,
    });
    expect(own.asked.map(([method]) => method)).toEqual(["StartTask"]);
  });

  it.each([
    ["that may be tried again", { result: Result.RETRY, driverErrorMsg: "no space" }, "no space", true],
    ["that may not", { result: Result.FATAL, driverErrorMsg: "no such image" }, "no such image", false],
    ["without words", { result: Result.FATAL }, "driver reported a failed start", false],
    ["with a handle all the same", { result: Result.RETRY, handle }, "driver reported a failed start", true],
  ] as const)("is undone after a failure %s", async (_what, answer, text, recoverable) => {
    const { driver, asked } = client({
      StartTask: message(pb.StartTaskResponseSchema, answer),
      DestroyTask: message(pb.DestroyTaskResponseSchema),
    });
    expect(await failure(driver.startTask(config))).toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE",
      message: text,
      recoverable,
    });
    expect(asked.map(([method]) => method)).toEqual(["StartTask", "DestroyTask"]);
    expect(fromBinary(pb.DestroyTaskRequestSchema, asked[1]?.[1] as Uint8Array)).toMatchObject({
      taskId: config.id,
      force: true,
    });
  });

  it("without a handle is undone, and breaks the protocol, also when the undoing fails", async () => {
    const lost = new Error("no such task");
    const { driver, told } = client({ StartTask: message(pb.StartTaskResponseSchema), DestroyTask: () => lost });
    expect(await failure(driver.startTask(config))).toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_PROTOCOL",
      message: "start task: driver returned no usable handle",
    });
    expect(told).toEqual([[{ err: lost, taskId: config.id }, "could not undo a failed start"]]);
  });
});

describe("an answer without its main part", () => {
  it("of WaitTask is a lost task when it gives a reason, and an error when not", async () => {
    const result = { exitCode: 3, signal: 2, oomKilled: true };
    const wait = (init: MessageInitShape<typeof pb.WaitTaskResponseSchema>): Promise<unknown> =>
      failure(
        client({ WaitTask: message(pb.WaitTaskResponseSchema, init) })
          .driver.waitTask("t")
          .then((r) => Promise.reject(r as never)),
      );
    expect(await wait({ result })).toEqual(result);
    expect(await wait({ result, err: "odd" })).toEqual({ ...result, error: "odd" });
    expect(await wait({ err: "lost" })).toEqual({ exitCode: -1, signal: 0, oomKilled: false, error: "lost" });
    expect(await wait({})).toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_PROTOCOL",
      message: "wait task: driver returned no result",
      details: { taskId: "t" },
    });
  });

  it("is an error that says which call and which task", async () => {
    const { driver } = client({
      InspectTask: message(pb.InspectTaskResponseSchema),
      ExecTask: message(pb.ExecTaskResponseSchema),
      CreateNetwork: message(pb.CreateNetworkResponseSchema),
    });
    expect(await failure(driver.inspectTask("t"))).toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_PROTOCOL",
      message: "inspect task: driver returned no task",
      details: { taskId: "t" },
    });
    expect(await failure(driver.execTask("t", ["x"], 1))).toMatchObject({
      message: "exec task: driver returned no result",
      details: { taskId: "t" },
    });
    expect(await failure(driver.createNetwork?.("a", "h") as Promise<unknown>)).toMatchObject({
      message: "create network: driver returned no network",
      details: { allocId: "a" },
    });
  });

  it("of a schema is none for the plugin, and an error with its place for tasks", async () => {
    const { driver } = client({
      ConfigSchema: new Uint8Array(),
      TaskConfigSchema: message(pb.TaskConfigSchemaResponseSchema),
    });
    expect(await driver.configSchema()).toBeUndefined();
    expect(await failure(driver.taskConfigSchema())).toMatchObject({
      message: "config schema: task config schema: empty",
    });
  });
});

describe("calls that older drivers do not know", () => {
  it("are no failure where nothing depends on them", async () => {
    const unknown = (): Error => new NotImplementedError("it");
    const { driver } = client({ Init: unknown, Shutdown: unknown });
    await driver.init?.();
    await driver.shutdown?.();
    const broken = new Error("broken");
    const other = client({ Init: () => broken, Shutdown: () => broken }).driver;
    expect(await failure(other.init?.() as Promise<void>)).toBe(broken);
    expect(await failure(other.shutdown?.() as Promise<void>)).toBe(broken);
  });
});

describe("samples", () => {
  it("that cannot be read are skipped, and told once a minute with their number", async () => {
    const bad = message(pb.TaskStatsResponseSchema);
    const good = message(pb.TaskStatsResponseSchema, { stats: toTaskStats("t", SAMPLE, 0) });
    const { driver, told, asked } = client({}, [bad, good, bad, bad, bad, good]);
    const seen: unknown[] = [];
    for await (const sample of driver.taskStats("t", 1_500, new AbortController().signal)) seen.push(sample);
    expect(seen).toEqual([SAMPLE, SAMPLE]);
    const text = "driver sent a sample that cannot be read";
    expect(told).toEqual([
      [{ taskId: "t", reason: "stats missing", skipped: 1 }, text],
      [{ taskId: "t", reason: "stats missing", skipped: 3 }, text],
    ]);
    expect(fromBinary(pb.TaskStatsRequestSchema, asked[0]?.[1] as Uint8Array)).toMatchObject({
      taskId: "t",
      collectionInterval: { seconds: 1n, nanos: 500_000_000 },
    });
  });
});

describe("requests", () => {
  it("hold every argument", async () => {
    const ok = new Uint8Array();
    const { driver, asked } = client({
      StopTask: ok,
      SignalTask: ok,
      DestroyTask: ok,
      DestroyNetwork: ok,
      RecoverTask: ok,
      CreateNetwork: message(pb.CreateNetworkResponseSchema, { isolationSpec: { path: "/n", mode: 1 }, created: true }),
      ExecTask: message(pb.ExecTaskResponseSchema, { stdout: new Uint8Array([1]), result: { exitCode: 4 } }),
      PluginInfo: message(PluginInfoResponseSchema, {
        name: "n",
        type: 3,
        pluginVersion: "1",
        pluginApiVersions: ["x"],
      }),
    });
    await driver.stopTask("t", 2_500, "SIGHUP");
    await driver.signalTask("t", "SIGUSR1");
    await driver.destroyTask("t", false);
    expect(await driver.createNetwork?.("a", "h")).toEqual({
      spec: { mode: "group", path: "/n", labels: {} },
      created: true,
    });
    await driver.destroyNetwork?.("a", { mode: "group", path: "/n", labels: { l: "1" } });
    expect(await driver.execTask("t", ["a", "b"], 2_500)).toMatchObject({
      stdout: new Uint8Array([1]),
      exitResult: { exitCode: 4 },
    });
    expect(await driver.info()).toEqual({ name: "n", type: "device", version: "1", apiVersions: ["x"] });
    const read = <M extends DescMessage>(schema: M, method: string): unknown =>
      fromBinary(schema, asked.find(([name]) => name === method)?.[1] as Uint8Array);
    const timeout = { seconds: 2n, nanos: 500_000_000 };
    expect(read(pb.StopTaskRequestSchema, "StopTask")).toMatchObject({ taskId: "t", timeout, signal: "SIGHUP" });
    expect(read(pb.SignalTaskRequestSchema, "SignalTask")).toMatchObject({ taskId: "t", signal: "SIGUSR1" });
    expect(read(pb.DestroyTaskRequestSchema, "DestroyTask")).toMatchObject({ taskId: "t", force: false });
    expect(read(pb.CreateNetworkRequestSchema, "CreateNetwork")).toMatchObject({ allocId: "a", hostname: "h" });
    expect(read(pb.DestroyNetworkRequestSchema, "DestroyNetwork")).toMatchObject({
      allocId: "a",
      isolationSpec: { mode: 1, path: "/n", labels: { l: "1" } },
    });
    expect(read(pb.ExecTaskRequestSchema, "ExecTask")).toMatchObject({ taskId: "t", command: ["a", "b"], timeout });
  });
});
