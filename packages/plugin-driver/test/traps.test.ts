/** What a stock agent does to a careless driver, and why it cannot happen here. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import type { Logger } from "@outrider/foundation";
import { ManualClock } from "@outrider/backoff/testing";
import { describe, expect, it, vi } from "vitest";
import { type Fingerprint, RecoverableError, StatsNotImplementedError, type StartedTask } from "../src/index.ts";
import { Driver, StartTaskRequestSchema, type TaskStatsResponse } from "../src/gen/driver_pb.js";
import { Health, HealthCheckRequestSchema, type HealthCheckResponse } from "../src/gen/health_pb.js";
import { EmptySchema, GRPCController, GRPCBroker, type ConnInfo, ConnInfoSchema } from "../src/gen/go_plugin_pb.js";
import { clientMethod } from "../src/wire/methods.ts";
import { toTaskStats } from "../src/wire/usage.ts";
import { holdOpen } from "../src/serve/hold-open.ts";
import { createDriverServer } from "../src/serve/index.ts";
import { connected } from "./support/pair.ts";
import { broken, MemoryDriver, SAMPLE, taskConfig, untilAborted } from "./support/memory-driver.ts";

const failure = async (work: Promise<unknown>): Promise<{ code?: string; message: string; recoverable?: boolean }> => {
  try {
    await work;
  } catch (reason) {
    return reason as Error;
  }
  throw new Error("no failure");
};

function rawClient(socketPath: string): Client {
  return new Client(`unix:${socketPath}`, credentials.createInsecure(), { "grpc.default_authority": "unused" });
}

describe("StartTask", () => {
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["no handle", {}],
    ["version 0", { handle: { version: 0, driverState: new Uint8Array() } }],
    ["no driver state", { handle: { version: 1 } }],
  ])("fails and undoes the start when the driver returns %s", async (_what, answer) => {
    const driver = new MemoryDriver();
    const start = driver.startTask.bind(driver);
    driver.startTask = async (config) => {
      await start(config);
      return answer as StartedTask;
    };
    await using pair = await connected(driver);
    const reason = await failure(pair.client.startTask(taskConfig()));
    expect(reason).toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE", recoverable: false });
    expect(reason.message).toContain("no usable handle");
    expect(driver.tasks.size).toBe(0);
    expect(driver.calls).toEqual(["destroy true"]);
  });

  it("fails with the first reason even if the undoing fails too", async () => {
    const driver = new MemoryDriver();
    driver.startTask = () => Promise.resolve({} as StartedTask);
    await using pair = await connected(driver);
    expect((await failure(pair.client.startTask(taskConfig()))).message).toContain("no handle");
  });

  it("returns the config as it came, whatever the driver made of it", async () => {
    const driver = new MemoryDriver();
    const start = driver.startTask.bind(driver);
    driver.startTask = async (config) => {
      const started = await start(config);
      return { handle: { ...started.handle, config: { ...config, id: "other", env: {} } } };
    };
    await using pair = await connected(driver);
    const config = taskConfig();
    expect((await pair.client.startTask(config)).handle.config).toEqual(config);
  });

  it.each([true, false])("carries recoverable=%s", async (recoverable) => {
    const driver = new MemoryDriver();
    driver.startTask = () => Promise.reject(new RecoverableError("boom", recoverable));
    await using pair = await connected(driver);
    expect(await failure(pair.client.startTask(taskConfig()))).toMatchObject({ message: "boom", recoverable });
  });

  it("fails as not recoverable without a task", async () => {
    await using pair = await connected(new MemoryDriver());
    const { path, serialize, deserialize } = clientMethod(Driver.method.startTask);
    const client = rawClient(pair.socketPath);
    const error = await new Promise<ServiceError | null>((resolve) =>
      client.makeUnaryRequest(path, serialize, deserialize, create(StartTaskRequestSchema), (reason) =>
        resolve(reason),
      ),
    );
    expect(error).toMatchObject({ code: 9, details: "start task: request without a task" });
    client.close();
  });

  it("has opened both fifos when it fails, so that the agent's collector does not wait", async () => {
    const folder = mkdtempSync(join(tmpdir(), "opt-"));
    const paths = ["out", "err"].map((name) => join(folder, name));
    for (const path of paths) execFileSync("mkfifo", [path]);
    const readers = paths.map((path) => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    const driver = new MemoryDriver();
    let open: string[] = [];
    driver.startTask = () => {
      open = readdirSync("/proc/self/fd").flatMap((fd) => {
        try {
          const writes =
            (Number.parseInt(/flags:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "0", 8) &
              1) ===
            1;
          const target = readlinkSync(`/proc/self/fd/${fd}`);
          return writes && target.startsWith(folder) ? [target] : [];
        } catch {
          return []; // closed by somebody else in between
        }
      });
      return Promise.reject(new Error("no"));
    };
    const [stdoutPath = "", stderrPath = ""] = paths;
    await using pair = await connected(driver);
    await failure(pair.client.startTask(taskConfig({ stdoutPath, stderrPath })));
    expect(open).toHaveLength(2);
    // Files that are no fifos are not held, and a fifo without a reader is left to the driver.
    readers.forEach(closeSync);
    await failure(pair.client.startTask(taskConfig({ stdoutPath, stderrPath: import.meta.filename })));
    expect(open).toHaveLength(0);
    rmSync(folder, { recursive: true });
  });
});

describe("RecoverTask", () => {
  it("that fails ends what the handle points to first", async () => {
    const driver = new MemoryDriver();
    Object.assign(driver, { killLeftovers: () => void driver.calls.push("kill leftovers") });
    await using pair = await connected(driver);
    const { handle } = await pair.client.startTask(taskConfig());
    driver.tasks.clear();
    expect((await failure(pair.client.recoverTask(handle))).message).toBe("gone for good");
    expect(driver.calls.at(-1)).toBe("kill leftovers");
  });

  it("logs by name the task whose processes could not be ended", async () => {
    const driver = new MemoryDriver();
    Object.assign(driver, { killLeftovers: () => Promise.reject(new Error("EPERM")) });
    const told: unknown[] = [];
    const quiet = (): void => undefined;
    const error = (...parts: unknown[]): void => void told.push(parts);
    const logger: Logger = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error, child: () => logger };
    await using pair = await connected(driver, { logger });
    const { handle } = await pair.client.startTask(taskConfig());
    driver.tasks.clear();
    await failure(pair.client.recoverTask(handle));
    expect(told).toMatchObject([
      [{ taskId: taskConfig().id, err: { message: "EPERM" } }, "could not end the processes of an unrecoverable task"],
    ]);
  });

  it("tells its own failure when the killing fails too, or is not offered", async () => {
    const driver = new MemoryDriver();
    await using pair = await connected(driver);
    const { handle } = await pair.client.startTask(taskConfig());
    driver.tasks.clear();
    expect((await failure(pair.client.recoverTask(handle))).message).toBe("gone for good");
    Object.assign(driver, { killLeftovers: () => Promise.reject(new Error("EPERM")) });
    expect((await failure(pair.client.recoverTask(handle))).message).toBe("gone for good");
  });
});

describe("streams", () => {
  it("of fingerprints and events stay open although the driver ends or fails", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const seen: unknown[] = [];
    let opens = 0;
    const work = holdOpen({
      open: async function* () {
        opens++;
        yield opens;
        if (opens === 2) throw new Error("broken");
      },
      write: (item) => Promise.resolve(void seen.push(item)),
      onFailure: (reason) => Promise.resolve(void seen.push(String(reason))),
      reopenMs: 30_000,
      signal: stop.signal,
      clock,
    });
    await clock.flush();
    expect(seen).toEqual([1]);
    await clock.advance(30_000);
    expect(seen).toEqual([1, 2, "Error: broken"]);
    await clock.advance(4_999);
    expect(opens).toBe(2);
    await clock.advance(1);
    expect(opens).toBe(3);
    stop.abort();
    await work;
  });

  it("end at once with the host, also in the middle of the driver's work", async () => {
    const clock = new ManualClock();
    for (const fails of [false, true]) {
      const stop = new AbortController();
      const work = holdOpen({
        open: async function* (signal) {
          yield 1;
          await untilAborted(signal);
          if (fails) throw new Error("because it ended");
        },
        write: () => Promise.resolve(),
        onFailure: () => Promise.reject(new Error("must not be told")),
        reopenMs: 1,
        signal: stop.signal,
        clock,
      });
      await clock.flush();
      stop.abort();
      await work;
    }
    const already = new AbortController();
    already.abort();
    const nothing = { open: async function* () {}, write: () => Promise.resolve(), onFailure: () => Promise.resolve() };
    await holdOpen({ ...nothing, reopenMs: 1, signal: already.signal, clock });
    const leaving = new AbortController();
    const once = async function* (): AsyncGenerator<number> {
      yield 1;
    };
    const write = (): Promise<void> => Promise.resolve(leaving.abort());
    await holdOpen({ ...nothing, open: once, write, reopenMs: 1, signal: leaving.signal, clock });
  });

  it("tell a failed fingerprint as an unhealthy driver", async () => {
    const driver = new MemoryDriver();
    driver.fingerprint = () => broken(new Error("no docker"));
    driver.taskEvents = () => broken(new Error("no events"));
    const warned: string[] = [];
    const quiet = (): void => undefined;
    const logger: Logger = {
      trace: quiet,
      debug: quiet,
      info: quiet,
      error: quiet,
      warn: (_fields: object | string, message?: string) => void warned.push(message ?? ""),
      child: () => logger,
    };
    await using pair = await connected(driver, { logger });
    const got: Fingerprint[] = [];
    for await (const fingerprint of pair.client.fingerprint(AbortSignal.timeout(5_000))) {
      got.push(fingerprint);
      break;
    }
    expect(got).toEqual([{ attributes: {}, health: "unhealthy", healthDescription: "no docker", error: "no docker" }]);
    const stop = new AbortController();
    const events = pair.client.taskEvents(stop.signal)[Symbol.asyncIterator]();
    const next = failure(events.next());
    await vi.waitFor(() => expect(warned).toEqual(["fingerprint failed", "task events failed"]), 20_000);
    stop.abort(new Error("enough"));
    expect((await next).message).toBe("enough");
  });

  it("of a driver without statistics stay open and silent instead of costing an error line a second", async () => {
    const driver = new MemoryDriver();
    driver.taskStats = () => broken(new StatsNotImplementedError());
    await using pair = await connected(driver);
    const stop = new AbortController();
    const next = pair.client.taskStats("x", 10, stop.signal)[Symbol.asyncIterator]().next();
    const raced = await Promise.race([next, new Promise((resolve) => setTimeout(() => resolve("silent"), 100))]);
    expect(raced).toBe("silent");
    stop.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
  });

  it("carry the recoverable flag of a failing TaskStats to the first receive", async () => {
    const driver = new MemoryDriver();
    driver.taskStats = () => broken(new RecoverableError("not yet", true));
    await using pair = await connected(driver);
    const iterator = pair.client.taskStats("x", 10, AbortSignal.timeout(5_000))[Symbol.asyncIterator]();
    expect(await failure(iterator.next())).toMatchObject({ message: "not yet", recoverable: true });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });
});

describe("a sample", () => {
  it("has every part that a stock agent dereferences, whatever the driver left out", () => {
    const empty = toTaskStats("id", { Timestamp: 0, ResourceUsage: null, Pids: null }, 1_000);
    expect(empty.timestamp).toMatchObject({ seconds: 1n, nanos: 0 });
    expect(empty.aggResourceUsage?.cpu).toBeDefined();
    expect(empty.aggResourceUsage?.memory).toBeDefined();
    const withPids = toTaskStats("id", { ...SAMPLE, Pids: { "7": SAMPLE.ResourceUsage as never } }, 0);
    expect(withPids.resourceUsageByPid["7"]?.memory?.rss).toBe(4_849_664n);
  });

  it("that cannot be read is skipped and told once a minute", async () => {
    const driver = new MemoryDriver();
    driver.samples = [];
    const told: unknown[] = [];
    const quiet = (): void => undefined;
    const warn = (...parts: unknown[]): void => void told.push(parts);
    const logger: Logger = { trace: quiet, debug: quiet, info: quiet, warn, error: quiet, child: () => logger };
    await using pair = await connected(driver, {}, { logger });
    // A Go driver may leave parts out: such messages come by hand here.
    const { client } = pair;
    const channel = (client as unknown as { channel: { serverStream: unknown } }).channel;
    channel.serverStream = async function* (): AsyncGenerator<Partial<TaskStatsResponse>> {
      yield {};
      yield { stats: { ...toTaskStats("x", SAMPLE, 0), timestamp: undefined } as never };
      yield { stats: { ...toTaskStats("x", SAMPLE, 0), aggResourceUsage: undefined } as never };
      yield { stats: toTaskStats("x", SAMPLE, 0) };
    };
    const got: unknown[] = [];
    for await (const sample of client.taskStats("x", 1, AbortSignal.timeout(5_000))) got.push(sample);
    expect(got).toEqual([SAMPLE]);
    expect(told).toEqual([
      [{ taskId: "x", reason: "stats missing", skipped: 1 }, "driver sent a sample that cannot be read"],
    ]);
  });
});

describe("Kill and Shutdown", () => {
  it("are answered although the driver's own shutdown hangs or fails", async () => {
    const clock = new ManualClock();
    const driver = new MemoryDriver();
    Object.assign(driver, { shutdown: () => new Promise(() => undefined) });
    await using pair = await connected(driver, { clock });
    let done = false;
    const hanging = pair.client.shutdown().then(() => (done = true));
    while (clock.pending.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(done).toBe(false);
    await clock.advance(1_500);
    await hanging;
    Object.assign(driver, { shutdown: () => Promise.reject(new Error("no")) });
    await pair.client.shutdown();
    Object.assign(driver, { init: () => Promise.resolve() });
    await pair.client.init();
  });

  it("answer the controller before the server closes", async () => {
    const pair = await connected(new MemoryDriver());
    const { path, serialize, deserialize } = clientMethod(GRPCController.method.shutdown);
    const client = rawClient(pair.socketPath);
    const answer = await new Promise((resolve) =>
      client.makeUnaryRequest(path, serialize, deserialize, create(EmptySchema), (error, value) =>
        resolve(error ?? value),
      ),
    );
    expect(answer).toMatchObject({ $typeName: "plugin.Empty" });
    await pair.client.gone;
    client.close();
    await pair[Symbol.asyncDispose]();
  });
});

describe("services beside the driver", () => {
  it("tell that the plugin is healthy", async () => {
    await using pair = await connected(new MemoryDriver());
    const client = rawClient(pair.socketPath);
    const check = clientMethod(Health.method.check);
    const ask = (service: string): Promise<unknown> =>
      new Promise((resolve) =>
        client.makeUnaryRequest(
          check.path,
          check.serialize,
          check.deserialize,
          create(HealthCheckRequestSchema, { service }),
          (error, value) => resolve(error === null ? (value as HealthCheckResponse).status : error.code),
        ),
      );
    expect([await ask("plugin"), await ask(""), await ask("other")]).toEqual([1, 1, 5]);
    const watch = clientMethod(Health.method.watch);
    const states: number[] = [];
    for (const service of ["plugin", "other"]) {
      const request = create(HealthCheckRequestSchema, { service });
      const stream = client.makeServerStreamRequest(watch.path, watch.serialize, watch.deserialize, request);
      stream.on("error", () => undefined);
      await new Promise<void>((resolve) =>
        stream.once("data", (message: HealthCheckResponse) => {
          states.push(message.status);
          stream.cancel();
          resolve();
        }),
      );
    }
    expect(states).toEqual([1, 3]);
    client.close();
  });

  it("end the broker stream when the host ends it", async () => {
    await using pair = await connected(new MemoryDriver());
    const client = rawClient(pair.socketPath);
    const broker = clientMethod(GRPCBroker.method.startStream);
    const stream = client.makeBidiStreamRequest(broker.path, broker.serialize, broker.deserialize);
    stream.on("data", (_message: ConnInfo) => undefined);
    const ended = new Promise<number>((resolve) => stream.on("status", ({ code }) => resolve(code)));
    stream.write(create(ConnInfoSchema, { serviceId: 1, network: "unix", address: "/x" }));
    stream.end();
    expect(await ended).toBe(0);
    client.close();
  });
});

describe("the socket of a driver server", () => {
  it("must have a path that fits, and exactly one way to listen", async () => {
    const driver = new MemoryDriver();
    const socketPath = `/tmp/${"x".repeat(200)}`;
    expect(await failure(createDriverServer(driver, { socketPath }))).toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_START",
      kind: "socket-path",
      details: { path: socketPath },
    });
    const message = "exactly one of socketPath and listener is needed";
    expect(await failure(createDriverServer(driver, {}))).toMatchObject({ kind: "socket-path", message });
    const listener = createServer();
    expect(await failure(createDriverServer(driver, { socketPath: "/tmp/s", listener }))).toMatchObject({ message });
    expect((await failure(createDriverServer(driver, { socketPath: "/no/such/folder/s" }))).message).toMatch(
      /ENOENT|EACCES/,
    );
  });

  it("is for its owner alone, takes the place of a stale file, and goes with the server", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ops-"));
    const socketPath = join(folder, "s");
    writeFileSync(socketPath, "stale");
    const server = await createDriverServer(new MemoryDriver(), { socketPath });
    const { mode } = statSync(socketPath);
    expect([(mode & constants.S_IFMT) === constants.S_IFSOCK, mode & 0o777]).toEqual([true, 0o600]);
    expect(server.socketPath).toBe(socketPath);
    await Promise.all([server.close(), server.close()]);
    expect(existsSync(socketPath)).toBe(false);
    rmSync(folder, { recursive: true });
  });
});

describe("a driver that makes the output fifos itself", () => {
  it("is not kept from it by a server that holds them", async () => {
    const folder = mkdtempSync(join(tmpdir(), "opt-"));
    const path = join(folder, "out");
    execFileSync("mkfifo", [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    for (const guardFifos of [true, false]) {
      const driver = new MemoryDriver();
      const start = driver.startTask.bind(driver);
      let held = 0;
      driver.startTask = (config) => {
        held = readdirSync("/proc/self/fd").filter((fd) => {
          try {
            return readlinkSync(`/proc/self/fd/${fd}`) === path;
          } catch {
            return false; // closed by somebody else in between
          }
        }).length;
        return start(config);
      };
      await using pair = await connected(driver, { guardFifos });
      await pair.client.startTask(taskConfig({ stdoutPath: path, stderrPath: "" }));
      // One is the reader.
      expect(held).toBe(guardFifos ? 2 : 1);
    }
    closeSync(reader);
    rmSync(folder, { recursive: true });
  });
});
