/** The recorded answers of a driver written in Go against our host side: same requests, and answers read without loss. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, equals, fromBinary, type Message } from "@bufbuild/protobuf";
import { Metadata, Server, ServerCredentials, type StatusObject } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectPlugin, type HostedDriver } from "../src/host/index.ts";
import { BasePlugin, ConfigSchemaResponseSchema, type SetConfigRequest } from "../src/gen/base_pb.js";
import * as pb from "../src/gen/driver_pb.js";
import { Driver } from "../src/gen/driver_pb.js";
import type { ExecInput } from "../src/index.ts";
import { fromNomadConfig, toCapabilities, toFingerprint, toPluginInfo, toTaskEvent } from "../src/wire/driver.ts";
import { fromDuration } from "../src/wire/scalars.ts";
import { toSpec } from "../src/wire/spec.ts";
import {
  fromTaskConfig,
  fromTaskHandle,
  toExitResult,
  toInspectResponse,
  toNetworkOverride,
  toTaskHandle,
} from "../src/wire/task.ts";
import { toTaskStats } from "../src/wire/usage.ts";
import { bytesOf, capturedCalls, type CapturedCall, methodOf, requestsOf, responsesOf } from "./support/captures.ts";

const calls = capturedCalls("go-driver").filter((call) => /\.(BasePlugin|Driver)\/[A-Z]/.test(call.method));
const infoCall = calls.find((call) => call.method.endsWith("PluginInfo")) as CapturedCall;

/** Answers the bytes and the status of the current call. */
class GoDriver {
  call: CapturedCall = infoCall;
  received: Uint8Array[] = [];

  serve(server: Server): void {
    for (const service of [BasePlugin, Driver]) {
      const definition: Record<string, object> = {};
      const handlers: Record<string, unknown> = {};
      for (const method of service.methods) {
        const path = `/${service.typeName}/${method.name}`;
        const requestStream = method.methodKind === "bidi_streaming";
        const responseStream = method.methodKind !== "unary";
        const raw = (bytes: Buffer): Buffer => bytes;
        definition[method.localName] = {
          path,
          requestStream,
          responseStream,
          requestSerialize: raw,
          requestDeserialize: raw,
          responseSerialize: raw,
          responseDeserialize: raw,
        };
        handlers[method.localName] = responseStream ? this.#stream.bind(this) : this.#unary.bind(this, path);
      }
      server.addService(definition as never, handlers as never);
    }
  }

  #failure(call: CapturedCall): Partial<StatusObject> | null {
    if (call.status === undefined || call.status.code === 0 || call.status.code === 1) return null;
    const metadata = new Metadata();
    for (const text of call.status.detailsBinBase64 ?? []) {
      metadata.add("grpc-status-details-bin", Buffer.from(text, "base64"));
    }
    return { code: call.status.code, details: call.status.message ?? "", metadata };
  }

  #unary(path: string, call: { request: Buffer }, reply: (error: unknown, answer?: Buffer) => void): void {
    // SetConfig asks who the plugin is, to pick the version.
    const current = path.endsWith("PluginInfo") ? infoCall : this.call;
    if (current === this.call) this.received.push(new Uint8Array(call.request));
    reply(this.#failure(current), Buffer.from(bytesOf(current.responses[0]?.hex ?? "")));
  }

  #stream(call: {
    request?: Buffer;
    write(bytes: Buffer): void;
    end(): void;
    emit(event: string, value: unknown): void;
    on(event: string, fn: (bytes: Buffer) => void): void;
  }): void {
    if (call.request === undefined) call.on("data", (bytes) => this.received.push(new Uint8Array(bytes)));
    else this.received.push(new Uint8Array(call.request));
    const { responses, status } = this.call;
    const answer = (): void => {
      for (const { hex } of responses) call.write(Buffer.from(bytesOf(hex)));
      const failure = this.#failure(this.call);
      if (failure !== null) call.emit("error", failure);
      else if (status?.code === 0) call.end();
    };
    if (call.request !== undefined) return answer();
    const waiting = setInterval(() => {
      if (this.received.length < this.call.requests.length) return;
      clearInterval(waiting);
      answer();
    }, 2);
  }
}

async function take<T>(source: AsyncIterable<T>, count: number): Promise<T[]> {
  const out: T[] = [];
  if (count === 0) {
    for await (const item of source) out.push(item);
    return out;
  }
  for await (const item of source) if (out.push(item) === count) break;
  return out;
}

/** Makes the recorded call through the contract and gives back what was read, as messages again. */
async function through(client: HostedDriver, call: CapturedCall): Promise<Message[]> {
  const [request] = requestsOf(call) as unknown[];
  const signal = AbortSignal.timeout(5_000);
  const count = call.status?.code === 0 ? 0 : call.responses.length;
  const empty = (): Message[] => [create(methodOf(call).output)];
  switch (call.method.split("/")[1]) {
    case "PluginInfo":
      return [toPluginInfo(await client.info())];
    case "ConfigSchema": {
      const spec = await client.configSchema();
      return [create(ConfigSchemaResponseSchema, spec === undefined ? {} : { spec: toSpec(spec) })];
    }
    case "SetConfig": {
      const { msgpackConfig, nomadConfig } = request as SetConfigRequest;
      await client.setConfig(msgpackConfig, fromNomadConfig(nomadConfig));
      return empty();
    }
    case "Init":
      return client.init().then(empty);
    case "Shutdown":
      return client.shutdown().then(empty);
    case "TaskConfigSchema":
      return [create(pb.TaskConfigSchemaResponseSchema, { spec: toSpec(await client.taskConfigSchema()) })];
    case "Capabilities":
      return [create(pb.CapabilitiesResponseSchema, { capabilities: toCapabilities(await client.capabilities()) })];
    case "Fingerprint":
      return (await take(client.fingerprint(signal), count)).map(toFingerprint);
    case "RecoverTask": {
      const { handle } = request as pb.RecoverTaskRequest;
      const known = fromTaskHandle(handle);
      if (known === undefined) throw new Error("recorded handle without config");
      return client.recoverTask(known).then(empty);
    }
    case "StartTask": {
      const { task } = request as pb.StartTaskRequest;
      const { handle, network } = await client.startTask({ ...fromTaskConfig(task as pb.TaskConfig) });
      return [
        create(pb.StartTaskResponseSchema, {
          handle: toTaskHandle({ ...handle, config: { ...handle.config } }),
          ...(network === undefined ? {} : { networkOverride: toNetworkOverride(network) }),
        }),
      ];
    }
    case "WaitTask": {
      const result = await client.waitTask((request as pb.WaitTaskRequest).taskId);
      return [create(pb.WaitTaskResponseSchema, { result: toExitResult(result), err: result.error ?? "" })];
    }
    case "StopTask": {
      const { taskId, timeout, signal: name } = request as pb.StopTaskRequest;
      return client.stopTask(taskId, fromDuration(timeout), name).then(empty);
    }
    case "DestroyTask": {
      const { taskId, force } = request as pb.DestroyTaskRequest;
      return client.destroyTask(taskId, force).then(empty);
    }
    case "InspectTask":
      return [toInspectResponse(await client.inspectTask((request as pb.InspectTaskRequest).taskId))];
    case "TaskStats": {
      const { taskId, collectionInterval } = request as pb.TaskStatsRequest;
      const samples = await take(client.taskStats(taskId, fromDuration(collectionInterval), signal), count);
      return samples.map((sample) => create(pb.TaskStatsResponseSchema, { stats: toTaskStats("", sample, 0) }));
    }
    case "TaskEvents":
      return (await take(client.taskEvents(signal), count)).map(toTaskEvent);
    case "SignalTask": {
      const { taskId, signal: name } = request as pb.SignalTaskRequest;
      return client.signalTask(taskId, name).then(empty);
    }
    case "ExecTask": {
      const { taskId, command, timeout } = request as pb.ExecTaskRequest;
      const { stdout, stderr, exitResult } = await client.execTask(taskId, command, fromDuration(timeout));
      return [create(pb.ExecTaskResponseSchema, { stdout, stderr, result: toExitResult(exitResult) })];
    }
    case "ExecTaskStreaming":
      return exec(client, requestsOf(call) as pb.ExecTaskStreamingRequest[], signal);
    case "CreateNetwork": {
      const { allocId, hostname } = request as pb.CreateNetworkRequest;
      return client.createNetwork(allocId, hostname).then(empty);
    }
    case "DestroyNetwork": {
      const { allocId } = request as pb.DestroyNetworkRequest;
      return client.destroyNetwork(allocId, { mode: "host", path: "", labels: {} }).then(empty);
    }
    default:
      throw new Error(`not replayed: ${call.method}`);
  }
}

async function exec(
  client: HostedDriver,
  [first, ...rest]: pb.ExecTaskStreamingRequest[],
  signal: AbortSignal,
): Promise<Message[]> {
  const { taskId, command, tty } = (first as pb.ExecTaskStreamingRequest).setup as pb.ExecTaskStreamingRequest_Setup;
  async function* input(): AsyncGenerator<ExecInput> {
    for (const { stdin, ttySize } of rest) {
      yield {
        ...(stdin === undefined ? {} : { stdin: { data: stdin.data, close: stdin.close } }),
        ...(ttySize === undefined ? {} : { ttySize: { height: ttySize.height, width: ttySize.width } }),
      };
    }
  }
  const out: Message[] = [];
  for await (const frame of client.execTaskStreaming(taskId, { command, tty }, input(), signal)) {
    const { stdout, stderr, exited } = frame;
    out.push(
      create(pb.ExecTaskStreamingResponseSchema, {
        ...(stdout === undefined ? {} : { stdout: { ...stdout } }),
        ...(stderr === undefined ? {} : { stderr: { ...stderr } }),
        ...(exited === undefined ? {} : { exited: true, result: toExitResult(exited) }),
      }),
    );
  }
  return out;
}

/** The contract's times are doubles, good to 256 ns; the recorded ones have nanoseconds. */
function toMicros(message: Message): Message {
  const round = (at: { nanos: number } | undefined): void => {
    if (at !== undefined) at.nanos = Math.round(at.nanos / 1000) * 1000;
  };
  round((message as pb.TaskStatsResponse).stats?.timestamp);
  const { task } = message as pb.InspectTaskResponse;
  round(task?.startedAt);
  round(task?.completedAt);
  round((message as pb.DriverTaskEvent).timestamp);
  return message;
}

/** Recorded failures as our errors. */
const CODES: Readonly<Record<string, string>> = {
  "task not found for given id": "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND",
  "stats not implemented for driver": "ERR_OUTRIDER_PLUGIN_STATS_NOT_IMPLEMENTED",
  "CreateNetwork RPC not supported by driver": "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED",
  "DestroyNetwork RPC not supported by driver": "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED",
};

describe("a recorded Go driver", () => {
  const go = new GoDriver();
  let folder: string;
  let server: Server;
  let client: HostedDriver;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "opd-"));
    server = new Server();
    go.serve(server);
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(`unix:${folder}/s`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      ),
    );
    // connectPlugin calls Init: answered like any call.
    go.call = calls.find((call) => call.method.endsWith("/Init")) as CapturedCall;
    client = await connectPlugin({ socketPath: `${folder}/s` });
  });
  afterAll(() => {
    client.detach();
    server.forceShutdown();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Recorded with requests that our contract cannot express. */
  const inexpressible = new Set([44]);
  const replayed = calls.filter(({ id, status }) => !inexpressible.has(id) && status?.code !== 14);
  it.each(replayed.map((call) => [`#${call.id} ${call.method.split(".").at(-1)}`, call] as const))(
    "is understood by our host: %s",
    async (_title, call) => {
      go.call = call;
      go.received = [];
      const { input, output, name } = methodOf(call);
      const wanted = call.status?.code ?? 0;
      if (wanted === 0 || wanted === 1) {
        // A call that was cancelled without any answer has nothing to read.
        if (wanted === 1 && call.responses.length === 0) return;
        const got = await through(client, call);
        const want = responsesOf(call).map(toMicros);
        expect(got).toHaveLength(want.length);
        for (const [i, message] of got.entries()) {
          if (!equals(output, message, want[i] as Message)) expect(message).toEqual(want[i]);
        }
      } else {
        const reason: unknown = await through(client, call).catch((error: unknown) => error);
        const text = call.status?.message ?? "";
        expect(reason).toMatchObject({
          code: CODES[text] ?? (wanted === 9 ? "ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE" : "ERR_OUTRIDER_PLUGIN_CALL"),
        });
        if (CODES[text] === undefined) expect(reason).toMatchObject({ message: text });
        if (wanted === 9) {
          const bytes = Buffer.from(call.status?.detailsBinBase64?.[0] ?? "", "base64");
          expect(reason).toMatchObject({ recoverable: bytes.at(-2) === 8 && bytes.at(-1) === 1 });
        }
      }
      if (name === "DestroyNetwork") return;
      const sent = go.received.map((bytes) => fromBinary(input, bytes));
      const recorded = requestsOf(call);
      if (name === "RecoverTask")
        for (const message of recorded)
          (message as pb.RecoverTaskRequest).taskId = (message as pb.RecoverTaskRequest).handle?.config?.id ?? "";
      expect(sent).toHaveLength(recorded.length);
      for (const [i, message] of sent.entries()) {
        if (!equals(input, message, recorded[i] as Message)) expect(message).toEqual(recorded[i]);
      }
    },
  );
});
