/** The recorded requests of a stock agent against our plugin side: same answers, same statuses. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { equals, fromBinary, type Message } from "@bufbuild/protobuf";
import { Client, credentials, type StatusObject } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Capabilities, DriverPlugin, HclSpec, TaskConfig, TaskHandle } from "../src/index.ts";
import type * as base from "../src/gen/base_pb.js";
import type * as pb from "../src/gen/driver_pb.js";
import { createDriverServer, type DriverServer } from "../src/serve/index.ts";
import { fromCapabilities, fromFingerprint, fromPluginInfo, fromTaskEvent } from "../src/wire/driver.ts";
import { fromSpec } from "../src/wire/spec.ts";
import { fromStatus } from "../src/wire/status.ts";
import { fromExitResult, fromTaskHandle, toTaskConfig } from "../src/wire/task.ts";
import { fromTaskStats } from "../src/wire/usage.ts";
import { bytesOf, capturedCalls, type CapturedCall, methodOf, requestsOf, responsesOf } from "./support/captures.ts";
import { untilAborted } from "./support/memory-driver.ts";

/** A driver that answers whatever was recorded for the current call. */
class Scripted {
  call!: CapturedCall;
  received: unknown;

  answer<T extends Message>(): T {
    const { status } = this.call;
    if (status !== undefined && status.code !== 0) {
      throw fromStatus({ code: status.code, details: status.message ?? "" }, this.call.method);
    }
    return responsesOf(this.call)[0] as T;
  }

  async *stream<T extends Message, U>(map: (message: T) => U, signal: AbortSignal): AsyncGenerator<U> {
    for (const message of responsesOf(this.call)) yield map(message as T);
    if (this.call.status === undefined) await untilAborted(signal);
  }

  driver(): DriverPlugin {
    const act = (received: unknown): Promise<void> => {
      this.received = received;
      this.answer();
      return Promise.resolve();
    };
    return {
      info: () => Promise.resolve(fromPluginInfo(this.answer<base.PluginInfoResponse>())),
      configSchema: () => Promise.resolve<HclSpec>(fromSpec(this.answer<base.ConfigSchemaResponse>().spec)),
      setConfig: (config, nomad) => act({ config, nomad }),
      init: () => act("init"),
      shutdown: () => act("shutdown"),
      taskConfigSchema: () => Promise.resolve(fromSpec(this.answer<pb.TaskConfigSchemaResponse>().spec)),
      capabilities: () =>
        Promise.resolve<Capabilities>(fromCapabilities(this.answer<pb.CapabilitiesResponse>().capabilities)),
      fingerprint: (signal) => this.stream(fromFingerprint, signal),
      recoverTask: (handle) => act(handle),
      startTask: (config) => {
        this.received = config;
        const { handle } = this.answer<pb.StartTaskResponse>();
        return Promise.resolve({ handle: fromTaskHandle(handle) as TaskHandle });
      },
      waitTask: async (_id, signal) => {
        if (this.call.status === undefined) await untilAborted(signal as AbortSignal);
        const { result, err } = this.answer<pb.WaitTaskResponse>();
        return fromExitResult(result as pb.ExitResult, err);
      },
      stopTask: (id, timeoutMs, signalName) => act({ id, timeoutMs, signalName }),
      destroyTask: (id, force) => act({ id, force }),
      inspectTask: () => Promise.reject(new Error("never called by an agent")),
      taskStats: (_id, intervalMs, signal) => {
        this.received = intervalMs;
        return this.stream((message: pb.TaskStatsResponse) => {
          const sample = fromTaskStats(message.stats);
          if (typeof sample === "string") throw new Error(sample);
          return sample;
        }, signal);
      },
      taskEvents: (signal) => this.stream(fromTaskEvent, signal),
      signalTask: (id, signalName) => act({ id, signalName }),
      execTask: () => Promise.reject(new Error("never called by an agent")),
      execTaskStreaming: (id, request, _input, signal) => {
        this.received = { id, ...request };
        return this.stream((message: pb.ExecTaskStreamingResponse) => {
          const { stdout, stderr, exited, result } = message;
          return {
            ...(stdout === undefined ? {} : { stdout }),
            ...(stderr === undefined ? {} : { stderr }),
            ...(exited ? { exited: fromExitResult(result as pb.ExitResult) } : {}),
          };
        }, signal);
      },
    };
  }
}

interface Outcome {
  readonly responses: Uint8Array[];
  readonly status: StatusObject | undefined;
}

const raw = (bytes: Buffer): Buffer => bytes;

/** Sends recorded bytes; a call without a recorded status is cancelled after its recorded answers. */
function replay(client: Client, call: CapturedCall): Promise<Outcome> {
  const path = `/${call.method}`;
  const { methodKind } = methodOf(call);
  return new Promise((resolve) => {
    const responses: Uint8Array[] = [];
    if (methodKind === "unary") {
      const request = Buffer.from(bytesOf(call.requests[0]?.hex ?? ""));
      let status: StatusObject | undefined;
      const running = client.makeUnaryRequest(path, raw, raw, request, (_error, answer) => {
        if (answer !== undefined) responses.push(new Uint8Array(answer));
      });
      running.on("status", (object) => {
        status = object;
        setImmediate(() => resolve({ responses, status }));
      });
      if (call.status === undefined)
        setTimeout(() => (running.cancel(), resolve({ responses, status: undefined })), 30);
      return;
    }
    const stream =
      methodKind === "server_streaming"
        ? client.makeServerStreamRequest(path, raw, raw, Buffer.from(bytesOf(call.requests[0]?.hex ?? "")))
        : client.makeBidiStreamRequest(path, raw, raw);
    stream.on("error", () => undefined);
    stream.on("data", (bytes: Buffer) => {
      responses.push(new Uint8Array(bytes));
      if (call.status === undefined && responses.length === call.responses.length) {
        stream.cancel();
        resolve({ responses, status: undefined });
      }
    });
    stream.on("status", (object: StatusObject) => resolve({ responses, status: object }));
    if (methodKind !== "server_streaming") {
      for (const { hex } of call.requests)
        (stream as unknown as { write(bytes: Buffer): void }).write(Buffer.from(bytesOf(hex)));
    }
    if (call.status === undefined && call.responses.length === 0) {
      setTimeout(() => (stream.cancel(), resolve({ responses, status: undefined })), 30);
    }
  });
}

describe("recorded requests of a stock agent", () => {
  const script = new Scripted();
  let folder: string;
  let server: DriverServer;
  let client: Client;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "opd-"));
    const socketPath = join(folder, "s");
    server = await createDriverServer(script.driver(), { socketPath, guardFifos: false, onShutdown: () => undefined });
    client = new Client(`unix:${socketPath}`, credentials.createInsecure(), { "grpc.default_authority": "unused" });
  });
  afterAll(async () => {
    client.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const calls = capturedCalls("nomad-").filter((call) => !/GRPCBroker/.test(call.method));
  it.each(calls.map((call) => [`${call.file} ${call.pid}#${call.id} ${call.method.split(".").at(-1)}`, call] as const))(
    "are answered as recorded: %s",
    async (_title, call) => {
      script.call = call;
      const { responses, status } = await replay(client, call);
      const { output } = methodOf(call);
      expect(responses).toHaveLength(call.responses.length);
      for (const [i, bytes] of responses.entries()) {
        const got = fromBinary(output, bytes);
        const want = responsesOf(call)[i] as Message;
        if (!equals(output, got, want)) expect(got).toEqual(want);
      }
      if (call.status !== undefined) {
        expect(status?.code).toBe(call.status.code);
        if (call.status.code !== 0) expect(status?.details).toBe(call.status.message);
      }
    },
  );

  it("reach the driver with every field", async () => {
    for (const call of calls) {
      const [request] = requestsOf(call);
      script.call = call;
      if (/\/(StartTask|RecoverTask)$/.test(call.method)) {
        await replay(client, call);
        const start = call.method.endsWith("StartTask");
        const message = start
          ? (request as pb.StartTaskRequest).task
          : (request as pb.RecoverTaskRequest).handle?.config;
        const config = start ? (script.received as TaskConfig) : (script.received as TaskHandle).config;
        // A copy has no origin, so that it is written anew from the contract alone.
        expect(toTaskConfig({ ...config })).toEqual(message);
      } else if (call.method.endsWith("StopTask")) {
        await replay(client, call);
        expect(script.received).toMatchObject({ timeoutMs: 3000, signalName: "" });
      } else if (call.method.endsWith("DestroyTask")) {
        await replay(client, call);
        expect(script.received).toMatchObject({ force: true });
      }
    }
  });
});
