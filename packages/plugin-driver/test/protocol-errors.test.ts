/** Plugins that break the protocol: the host gets an error with a code, never a crash and never a hang. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import { ManualClock } from "@outrider/backoff/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DriverPlugin, ExecInput } from "../src/index.ts";
import {
  BasePlugin,
  ConfigSchemaResponseSchema,
  PluginInfoResponseSchema,
  SetConfigResponseSchema,
} from "../src/gen/base_pb.js";
import * as pb from "../src/gen/driver_pb.js";
import { GRPCStdio } from "../src/gen/go_plugin_pb.js";
import { connectPlugin } from "../src/host/index.ts";
import { serviceDefinition } from "../src/wire/methods.ts";
import { connected } from "./support/pair.ts";
import { EXITED, MemoryDriver, taskConfig } from "./support/memory-driver.ts";

let folder: string;
let server: Server;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "opo-"));
  server = new Server();
});
afterEach(() => {
  server.forceShutdown();
  rmSync(folder, { recursive: true, force: true });
});

type Handler = (call: never, reply: (error: unknown, answer?: unknown) => void) => void;

/** A plugin whose driver service answers what the test says; the rest is unimplemented. */
async function odd(handlers: Record<string, unknown>, clock?: ManualClock) {
  const setConfigs: unknown[] = [];
  const info = create(PluginInfoResponseSchema, {
    type: 2,
    pluginApiVersions: ["v9.0.0", "0.1.0"],
    name: "odd",
    pluginVersion: "1.0.0",
  });
  const base: Record<string, Handler> = {
    pluginInfo: (_call, reply) => reply(null, info),
    configSchema: (_call, reply) => reply(null, create(ConfigSchemaResponseSchema)),
    setConfig: (call, reply) => {
      setConfigs.push((call as { request: unknown }).request);
      reply(null, create(SetConfigResponseSchema));
    },
  };
  server.addService(serviceDefinition(BasePlugin), base as never);
  server.addService(serviceDefinition(pb.Driver), handlers as never);
  const socketPath = join(folder, "s");
  await new Promise((resolve) => server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), resolve));
  const client = await connectPlugin({ socketPath, ...(clock === undefined ? {} : { clock }) });
  return { client, setConfigs };
}

const unary =
  (answer: unknown): Handler =>
  (_call, reply) =>
    reply(null, answer);
const code = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (reason) {
    return String((reason as { code?: unknown }).code);
  }
  return "none";
};
async function* noInput(): AsyncGenerator<ExecInput> {}

describe("a driver that answers without the parts that count", () => {
  it("is told apart call by call", async () => {
    const destroyed: string[] = [];
    const { client } = await odd({
      taskConfigSchema: unary(create(pb.TaskConfigSchemaResponseSchema)),
      capabilities: unary(create(pb.CapabilitiesResponseSchema)),
      startTask: unary(create(pb.StartTaskResponseSchema)),
      destroyTask: ((call: { request: pb.DestroyTaskRequest }, reply: (error: unknown) => void) => {
        destroyed.push(call.request.taskId);
        reply({ code: status.UNKNOWN, details: "cannot" });
      }) as unknown,
      waitTask: unary(create(pb.WaitTaskResponseSchema)),
      inspectTask: unary(create(pb.InspectTaskResponseSchema)),
      execTask: unary(create(pb.ExecTaskResponseSchema)),
      createNetwork: unary(create(pb.CreateNetworkResponseSchema)),
    });
    const protocol = "ERR_OUTRIDER_PLUGIN_PROTOCOL";
    expect(await client.configSchema()).toBeUndefined();
    expect(await code(client.taskConfigSchema())).toBe(protocol);
    expect(await client.capabilities()).toMatchObject({ sendSignals: false, fsIsolation: "none", mountConfigs: "any" });
    expect(await code(client.startTask(taskConfig()))).toBe(protocol);
    expect(destroyed).toEqual([taskConfig().id]);
    expect(await code(client.waitTask("x"))).toBe(protocol);
    expect(await code(client.inspectTask("x"))).toBe(protocol);
    expect(await code(client.execTask("x", ["a"], 0))).toBe(protocol);
    expect(await code(client.createNetwork("x", "h"))).toBe(protocol);
    // Unimplemented calls of newer agents are fine.
    await client.init();
    await client.shutdown();
    expect(await code(client.signalTask("x", "SIGHUP"))).toBe("ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED");
    client.detach();
  });

  it.each([
    [1, "try later", true],
    [2, "never", false],
    [2, "", false],
  ])("in result %d means a failed start", async (result, driverErrorMsg, recoverable) => {
    const { client } = await odd({ startTask: unary(create(pb.StartTaskResponseSchema, { result, driverErrorMsg })) });
    await expect(client.startTask(taskConfig())).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE",
      recoverable,
      message: driverErrorMsg === "" ? "driver reported a failed start" : driverErrorMsg,
    });
    client.detach();
  });

  it("in err of WaitTask means a lost task", async () => {
    const { client, setConfigs } = await odd({
      waitTask: unary(create(pb.WaitTaskResponseSchema, { err: "lost it" })),
    });
    expect(await client.waitTask("x")).toEqual({ exitCode: -1, signal: 0, oomKilled: false, error: "lost it" });
    await client.setConfig(new Uint8Array());
    expect(setConfigs).toMatchObject([{ pluginApiVersion: "0.1.0" }]);
    client.detach();
  });

  it("fails in init or shutdown for another reason than not knowing the call", async () => {
    const refuse: Handler = (_call, reply) => reply({ code: status.INTERNAL, details: "no" });
    let known = true;
    const init: Handler = (call, reply) =>
      known ? unary(create(pb.InitResponseSchema))(call, reply) : refuse(call, reply);
    const { client } = await odd({ init, shutdown: refuse });
    known = false;
    expect(await code(client.init())).toBe("ERR_OUTRIDER_PLUGIN_CALL");
    expect(await code(client.shutdown())).toBe("ERR_OUTRIDER_PLUGIN_CALL");
    client.detach();
  });

  it("is unavailable without being dead: the original error after 3 s", async () => {
    const clock = new ManualClock();
    const { client } = await odd(
      { inspectTask: (_c: never, reply: (e: unknown) => void) => reply({ code: status.UNAVAILABLE, details: "busy" }) },
      clock,
    );
    const failed = code(client.inspectTask("x"));
    while (clock.pending.every(({ inMs }) => inMs !== 3_000)) await new Promise((resolve) => setTimeout(resolve, 2));
    await clock.advance(3_000);
    expect(await failed).toBe("ERR_OUTRIDER_PLUGIN_CALL");
    client.detach();
  });
});

describe("a host", () => {
  it("keeps the plugin's silent stdio stream open while it is there", async () => {
    let opened = 0;
    let ended = false;
    const streamStdio = (call: { on(event: string, fn: () => void): void }): void => {
      opened++;
      call.on("cancelled", () => (ended = true));
    };
    server.addService(serviceDefinition(GRPCStdio), { streamStdio } as never);
    const { client } = await odd({});
    await vi.waitFor(() => expect(opened).toBe(1));
    expect(ended).toBe(false);
    client.detach();
    await vi.waitFor(() => expect(ended).toBe(true));
  });
});

describe("exec streams that break the rules", () => {
  const run = async (driver: DriverPlugin, input = noInput(), signal = AbortSignal.timeout(5_000)): Promise<string> => {
    const frames = driver.execTaskStreaming?.("x", { command: ["a"], tty: false }, input, signal);
    return code(
      (async () => {
        for await (const _ of frames ?? []);
      })(),
    );
  };
  interface Stream {
    write(message: unknown): void;
    end(): void;
    on(event: string, fn: () => void): void;
  }

  it("end with an error when no exit result came, and with an unknown one when it is empty", async () => {
    let answer = (stream: Stream): void => stream.end();
    const { client } = await odd({ execTaskStreaming: (stream: Stream) => stream.on("data", () => answer(stream)) });
    expect(await run(client)).toBe("ERR_OUTRIDER_PLUGIN_PROTOCOL");
    answer = (stream) => {
      stream.write(create(pb.ExecTaskStreamingResponseSchema, { exited: true }));
      stream.end();
    };
    const frames = client.execTaskStreaming("x", { command: ["a"], tty: false }, noInput(), AbortSignal.timeout(5_000));
    for await (const frame of frames) expect(frame.exited?.exitCode).toBe(-1);
    client.detach();
  });

  it("end with the reason of a broken keyboard", async () => {
    const { client } = await odd({ execTaskStreaming: (stream: Stream) => stream.on("data", () => undefined) });
    async function* broken(): AsyncGenerator<ExecInput> {
      yield { stdin: { data: Buffer.from("x") } };
      throw Object.assign(new Error("tty gone"), { code: "EIO" });
    }
    expect(await run(client, broken())).toBe("EIO");
    client.detach();
  });

  it("are refused by the plugin side without setup, without a command, or without exec at all", async () => {
    const driver = new MemoryDriver();
    await using pair = await connected(driver);
    const signal = AbortSignal.timeout(5_000);
    const empty = pair.client.execTaskStreaming("x", { command: [], tty: false }, noInput(), signal);
    expect(await code(empty[Symbol.asyncIterator]().next() as Promise<unknown>)).toBe("ERR_OUTRIDER_PLUGIN_CALL");
    expect(await code(pair.client.execTask("x", [], 0))).toBe("ERR_OUTRIDER_PLUGIN_CALL");
    Object.assign(driver, { execTaskStreaming: undefined });
    expect(await run(pair.client)).toBe("ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED");
    Object.assign(driver, { execTaskStreaming: async function* () {} });
    expect(await run(pair.client)).toBe("ERR_OUTRIDER_PLUGIN_CALL");
    const channel = (pair.client as unknown as { channel: { bidi: Function } }).channel;
    const call = channel.bidi(pb.Driver.method.execTaskStreaming, signal) as {
      send(m: object): Promise<void>;
      answers: AsyncIterable<unknown>;
    };
    await call.send({});
    const next = call.answers[Symbol.asyncIterator]().next();
    await call.send({ ttySize: { height: 1, width: 1 } });
    expect(await code(next)).toBe("ERR_OUTRIDER_PLUGIN_CALL");
    await call.send({});
  });

  it("are left by a caller that has seen enough, and by a driver that is told to stop", async () => {
    const driver = new MemoryDriver();
    await driver.startTask(taskConfig());
    let stopped = false;
    driver.execTaskStreaming = async function* (_id, _request, _input, signal) {
      yield { stdout: { data: Buffer.from("x"), close: true } };
      yield { stdout: { data: Buffer.from("after the close") } };
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      stopped = true;
      yield { exited: EXITED };
    };
    await using pair = await connected(driver);
    const id = taskConfig().id;
    const request = { command: ["a"], tty: false };
    for await (const frame of pair.client.execTaskStreaming(id, request, noInput(), AbortSignal.timeout(5_000))) {
      expect(frame.stdout?.close).toBe(true);
      break;
    }
    while (!stopped) await new Promise((resolve) => setTimeout(resolve, 2));
  });
});

describe("networks made by a driver", () => {
  it("go through both ways", async () => {
    const driver = new MemoryDriver();
    const destroyed: unknown[] = [];
    const spec = {
      mode: "group",
      path: "/p",
      labels: { a: "b" },
      hostsConfig: { hostname: "h", address: "1.2.3.4" },
    } as const;
    Object.assign(driver, {
      createNetwork: (_id: string, hostname: string) =>
        Promise.resolve({ spec: { ...spec, labels: { hostname } }, created: true }),
      destroyNetwork: (_id: string, given: unknown) => Promise.resolve(void destroyed.push(given)),
    });
    await using pair = await connected(driver);
    expect(await pair.client.createNetwork("a", "web")).toEqual({
      spec: { ...spec, labels: { hostname: "web" } },
      created: true,
    });
    await pair.client.destroyNetwork("a", spec);
    expect(destroyed).toEqual([spec]);
    await using without = await connected(new MemoryDriver());
    expect(await code(without.client.createNetwork("a", "h"))).toBe("ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED");
    expect(await code(without.client.destroyNetwork("a", spec))).toBe("ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED");
  });
});

describe("a fast driver and a slow reader", () => {
  it("lose nothing, and a driver waits for the stream", async () => {
    const driver = new MemoryDriver();
    let made = 0;
    driver.taskEvents = async function* () {
      for (; made < 400; made++) {
        yield {
          taskId: "t",
          allocId: "a",
          taskName: "n",
          timestampMs: made + 1,
          message: "x".repeat(10_000),
          annotations: {},
        };
      }
    };
    await using pair = await connected(driver);
    const stop = new AbortController();
    const times: number[] = [];
    for await (const { timestampMs } of pair.client.taskEvents(stop.signal)) {
      if (times.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(made).toBeLessThan(400);
      }
      if (times.push(timestampMs) === 400) break;
    }
    expect(times).toEqual(Array.from({ length: 400 }, (_, i) => i + 1));
    // And one that is cancelled while the driver waits.
    made = 0;
    const iterator = pair.client.taskEvents(stop.signal)[Symbol.asyncIterator]();
    await iterator.next();
    await new Promise((resolve) => setTimeout(resolve, 30));
    stop.abort(new Error("enough"));
    await expect(iterator.next()).rejects.toThrow("enough");
  });
});
