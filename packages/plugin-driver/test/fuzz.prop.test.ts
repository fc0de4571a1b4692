/** Whatever comes over the border: a value or an error with a code, soon, and the next caller is served as if nothing had been. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  Client,
  credentials,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { ManualClock } from "@outrider/backoff/testing";
import { isOutriderError } from "@outrider/foundation";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { decodeMsgpack, defineDriver, schema } from "../src/index.ts";
import { decodeConfig, encodeConfig, type HostedDriver, launchPlugin, type SpawnPlugin } from "../src/host/index.ts";
import { BasePlugin, PluginInfoResponseSchema } from "../src/gen/base_pb.js";
import { Driver } from "../src/gen/driver_pb.js";
import { GRPCBroker, GRPCController, GRPCStdio } from "../src/gen/go_plugin_pb.js";
import { Health } from "../src/gen/health_pb.js";
import { SpecSchema } from "../src/gen/hclspec_pb.js";
import { connectPlugin } from "../src/host/connect-plugin.ts";
import { parseLogLine } from "../src/host/log-relay.ts";
import { createDriverServer, type DriverServer } from "../src/serve/index.ts";
import { fromSpec } from "../src/wire/spec.ts";
import { serviceDefinition } from "../src/wire/methods.ts";
import { connected, type Pair } from "./support/pair.ts";
import { FakeChild } from "./support/fake-child.ts";
import { MemoryDriver, taskConfig } from "./support/memory-driver.ts";

/** An answer may take so long on a busy machine; a hang takes for ever. */
const SOON_MS = 5_000;

async function soon<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${SOON_MS} ms`)), SOON_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** The code of what a call throws; "" when it does not. Errors without a code fail the test. */
function codeOf(run: () => unknown): string {
  try {
    run();
    return "";
  } catch (reason) {
    if (!isOutriderError(reason)) throw reason;
    return reason.code;
  }
}

async function rejection(work: Promise<unknown>): Promise<string> {
  try {
    await soon(work);
    return "";
  } catch (reason) {
    if (!isOutriderError(reason)) throw reason;
    return reason.code;
  }
}

/** Bytes that look like the real thing: mostly heads of structures, with lengths that lie. */
const msgpackLike = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      fc
        .constantFrom(0x81, 0x9f, 0xa3, 0xc0, 0xc6, 0xcb, 0xcf, 0xd4, 0xdb, 0xdd, 0xdf, 0xff)
        .map((n) => Uint8Array.of(n)),
      fc.string({ maxLength: 20 }).map((text) => {
        const bytes = new TextEncoder().encode(text);
        return bytes.length < 32 ? Uint8Array.of(0xa0 + bytes.length, ...bytes) : bytes;
      }),
    ),
    { maxLength: 40 },
  )
  .map((parts) => new Uint8Array(Buffer.concat(parts)));

describe("a configuration in msgpack", () => {
  const driver = defineDriver({
    name: "typed",
    version: "1.0.0",
    taskConfig: schema.object({
      text: schema.string(),
      count: schema.number(),
      many: schema.list(schema.map(schema.bool())),
      inner: schema.block({ free: schema.any() }),
    }),
    start: () => Promise.reject(new Error("not reached")),
    recover: () => Promise.reject(new Error("not reached")),
  });

  it("of any bytes is a value or an error with a code", async () => {
    await fc.assert(
      fc.asyncProperty(msgpackLike, async (bytes) => {
        expect(["", "ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE"]).toContain(codeOf(() => decodeMsgpack(bytes)));
        try {
          await driver.startTask(taskConfig({ msgpackDriverConfig: bytes }));
        } catch (reason) {
          if (!isOutriderError(reason)) expect((reason as Error).message).toBe("not reached");
        }
      }),
      { numRuns: 400 },
    );
  });

  it("of any data comes back as it was sent", () => {
    const data = fc.object({ values: [fc.string(), fc.integer(), fc.boolean(), fc.constant(null)], maxDepth: 4 });
    const any = schema.object({ free: schema.any() });
    fc.assert(
      fc.property(data, (value) => {
        fc.pre(!/\$\{|%\{|"(__proto__|\/\/)"/.test(JSON.stringify(value)));
        const nfc = JSON.parse(JSON.stringify(value).normalize("NFC")) as unknown;
        const back = decodeMsgpack(encodeConfig(any.spec(), { free: value }));
        expect(back).toEqual({ free: nfc });
      }),
      { numRuns: 100 },
    );
  });

  it.each<[string, Uint8Array]>([
    ["nests a million levels", new Uint8Array(1_000_000).fill(0x91)],
    [
      "claims lists of a million in lists of a million",
      new Uint8Array(Buffer.from("dd000f4240".repeat(20_000), "hex")),
    ],
    ["claims a map of four billion", Uint8Array.of(0xdf, 0xff, 0xff, 0xff, 0xff)],
    ["claims a text of four billion", Uint8Array.of(0xdb, 0xff, 0xff, 0xff, 0xff)],
    ["ends within a number", Uint8Array.of(0xcb, 0)],
    ["ends within a length", Uint8Array.of(0xdd, 0, 0)],
    ["goes on behind its end", Uint8Array.of(0x80, 0x80)],
    ["holds what is not known yet", Uint8Array.of(0xd4, 0, 0)],
    ["has a byte of no type", Uint8Array.of(0xc1)],
    ["has a map as a key", Uint8Array.of(0x81, 0x80, 0xc0)],
    ["has the key __proto__", Uint8Array.from(Buffer.from("81a95f5f70726f746f5f5f80", "hex"))],
  ])("that %s is refused at once and cheaply", (_what, bytes) => {
    const before = process.memoryUsage().heapUsed;
    const began = process.cpuUsage();
    expect(codeOf(() => decodeMsgpack(bytes))).toBe("ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE");
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1000).toBeLessThan(1_000);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 2 ** 20);
  });

  it("shows a part only of a value that is much too big", () => {
    const block = schema.object({ text: schema.string() });
    expect(() => block.read({ text: Array.from({ length: 100_000 }, () => 1) })).toThrow(
      /^config\.text: a string is required, but have \[1,.{190,220}…$/,
    );
  });

  it("of a job that is nested too deep is refused before it is sent", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    const spec = schema.object({ free: schema.any() }).spec();
    expect(codeOf(() => decodeConfig(spec, { free: deep }))).toBe("ERR_OUTRIDER_PLUGIN_CONFIG");
  });
});

describe("a first line", () => {
  const field = fc.oneof(
    fc.constantFrom("1", "2", "unix", "tcp", "grpc", "/nowhere", "127.0.0.1:1", "", "A".repeat(99)),
    fc.string(),
  );
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.array(field, { maxLength: 8 }).map((fields) => Buffer.from(`${fields.join("|")}\n`)),
    fc.constantFrom(Buffer.from("\r\n"), Buffer.alloc(20_000, "x"), Buffer.alloc(200_000, "y\n")),
  );

  it("of any bytes in any pieces is a failed start with a code, and the child is killed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(noise, { minLength: 1, maxLength: 4 }), async (chunks) => {
        const clock = new ManualClock();
        const children: FakeChild[] = [];
        const spawn: SpawnPlugin = () => {
          const child = new FakeChild();
          children.push(child);
          for (const chunk of chunks) child.stdout.write(chunk);
          child.stderr.write(Buffer.concat(chunks));
          return child.asChild();
        };
        const start = rejection(launchPlugin({ command: "/p", clock, spawn }));
        await vi.waitFor(() => expect(children).toHaveLength(1), SOON_MS);
        // Twice: the limits of the line and of the connection.
        for (let i = 0; i < 4; i++) {
          await new Promise((resolve) => setTimeout(resolve, 2));
          await clock.advance(60_000);
        }
        expect(await start).toBe("ERR_OUTRIDER_PLUGIN_START");
        expect(children[0]?.signals).toEqual(["SIGKILL"]);
      }),
      { numRuns: 20 },
    );
  });

  it("of the log is a line of the log, whatever it holds", () => {
    const json = fc.json().map((text) => `{"@message":${text},"@level":"info","@timestamp":${text}}`);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), json), (line) => {
        const { level, message } = parseLogLine(line);
        expect(["trace", "debug", "info", "warn", "error"]).toContain(level);
        expect(typeof message).toBe("string");
      }),
    );
  });
});

const METHODS = [Driver, BasePlugin, GRPCBroker, GRPCStdio, Health].flatMap((service) =>
  Object.values(serviceDefinition(service)).map((method) => method as MethodDefinition<unknown, unknown>),
);
const SHUTDOWN = `/${GRPCController.typeName}/Shutdown`;
const raw = (bytes: Uint8Array): Buffer => Buffer.from(bytes);

/** Groups in groups: a reader that calls itself for each of them runs out of stack. */
const DEEP_GROUPS = new Uint8Array(200_000).fill(0x7b);

describe("our server", () => {
  let folder: string;
  let socketPath: string;
  let server: DriverServer;
  let pair: Pair;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "opf-"));
    socketPath = join(folder, "s");
    server = await createDriverServer(new MemoryDriver(), { socketPath });
    pair = await connected(new MemoryDriver());
  });
  afterEach(async () => {
    const client = await connectPlugin({ socketPath });
    expect(await soon(client.info())).toMatchObject({ name: "memory" });
    client.detach();
  });
  afterAll(async () => {
    await server.close();
    await pair[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Writes bytes to a fresh connection and waits until the server hangs up, or a moment. */
  const throwAt = (chunks: readonly Uint8Array[]): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(socketPath);
      socket.on("error", () => undefined);
      socket.on("data", () => undefined);
      socket.once("close", () => resolve());
      for (const chunk of chunks) socket.write(chunk);
      setTimeout(() => socket.destroy(), 15);
    });

  it("survives any bytes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 }), async (chunks) =>
        soon(throwAt(chunks)),
      ),
      { numRuns: 30 },
    );
  });

  it("survives any HTTP/2 frames", async () => {
    const frame = fc
      .tuple(
        fc.nat(255),
        fc.nat(255),
        fc.oneof(fc.constantFrom(0, 1, 3, 2 ** 31 - 1), fc.nat(2 ** 31 - 1)),
        fc.uint8Array({ maxLength: 120 }),
        fc.boolean(),
      )
      .map(([type, flags, stream, payload, lies]) => {
        const head = Buffer.alloc(9);
        head.writeUIntBE(lies ? 2 ** 24 - 1 : payload.length, 0, 3);
        head.writeUInt8(lies ? type : type % 10, 3);
        head.writeUInt8(flags, 4);
        head.writeUInt32BE(stream, 5);
        return Buffer.concat([head, payload]);
      });
    const settings = Buffer.from("000000040000000000", "hex");
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 8 }), async (frames) =>
        soon(throwAt([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settings, ...frames])),
      ),
      { numRuns: 20 },
    );
  });

  it("answers any gRPC framing with a status", async () => {
    const session = connectHttp2("http://localhost", { createConnection: () => connect(socketPath) });
    session.on("error", () => undefined);
    const send = (path: string, body: Uint8Array, encoding: string): Promise<string> =>
      new Promise((resolve) => {
        const stream = session.request({
          [constants.HTTP2_HEADER_METHOD]: "POST",
          [constants.HTTP2_HEADER_PATH]: path,
          "content-type": "application/grpc",
          te: "trailers",
          "grpc-encoding": encoding,
        });
        let got = "";
        const take = ({ "grpc-status": code }: { readonly "grpc-status"?: string }): void => void (got = code ?? got);
        stream
          .on("response", take)
          .on("trailers", take)
          .on("error", () => undefined)
          .on("data", () => undefined);
        stream.once("close", () => resolve(got === "" ? `reset ${stream.rstCode}` : got));
        stream.end(body);
        // A stream that the method holds open is none of this test's business.
        setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), 300);
      });
    const body = fc
      .tuple(
        fc.constantFrom(0, 1, 2, 255),
        fc.constantFrom(0, 1, 5, 2 ** 31 - 1, 2 ** 32 - 1),
        fc.uint8Array({ maxLength: 60 }),
      )
      .map(([flag, length, bytes]) => {
        const head = Buffer.alloc(5);
        head.writeUInt8(flag, 0);
        head.writeUInt32BE(length, 1);
        return Buffer.concat([head, bytes]);
      });
    const unary = METHODS.filter(({ requestStream, responseStream }) => !requestStream && !responseStream).map(
      ({ path }) => path,
    );
    const path = fc.oneof(
      fc.constantFrom(...unary),
      fc.webPath().map((text) => `/${text}`),
    );
    await fc.assert(
      fc.asyncProperty(path, body, fc.constantFrom("identity", "gzip", "deflate", "x"), async (at, bytes, encoding) => {
        fc.pre(at !== SHUTDOWN);
        expect(await soon(send(at, bytes, encoding))).toMatch(/^(\d+|reset \d+)$/);
      }),
      { numRuns: 60 },
    );
    session.destroy();
  });

  it("answers any bytes in the place of a message with a status", async () => {
    const client = new Client(`unix:${socketPath}`, credentials.createInsecure(), {
      "grpc.default_authority": "localhost",
    });
    const ask = (method: MethodDefinition<unknown, unknown>, bytes: Uint8Array): Promise<number> =>
      new Promise((resolve) => {
        const { path, responseStream } = method;
        const deadline = Date.now() + 150;
        if (responseStream) {
          const call = client.makeBidiStreamRequest(path, raw, (b: Buffer) => b, { deadline });
          call.on("data", () => undefined).on("error", () => undefined);
          call.on("status", ({ code }: { code: number }) => resolve(code));
          call.end(bytes);
        } else {
          client.makeUnaryRequest(
            path,
            raw,
            (b: Buffer) => b,
            bytes,
            { deadline: Date.now() + SOON_MS },
            (error: ServiceError | null) => resolve(error?.code ?? 0),
          );
        }
      });
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 80 }),
      fc.constant(DEEP_GROUPS),
      fc.constant(Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f)),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...METHODS), bytes, async (method, message) => {
        const code = await soon(ask(method, message));
        expect(Object.values(status)).toContain(code);
        if (message === DEEP_GROUPS) expect([status.INTERNAL, status.DEADLINE_EXCEEDED]).toContain(code);
      }),
      { numRuns: 120 },
    );
    client.close();
  });
});

describe("our host", () => {
  let folder: string;
  let odd: Server;
  let answer: Uint8Array;
  let client: HostedDriver;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "opf-"));
    odd = new Server();
    // The first PluginInfo is right, so that the host attaches; everything after it is the test's.
    const info = { type: 2, pluginApiVersions: ["v0.1.0"], name: "odd", pluginVersion: "1.0.0" };
    answer = toBinary(PluginInfoResponseSchema, create(PluginInfoResponseSchema, info));
    for (const service of [BasePlugin, Driver]) {
      const definition = Object.fromEntries(
        Object.entries(serviceDefinition(service)).map(([name, method]) => [
          name,
          { ...method, requestDeserialize: (b: Buffer) => b, responseSerialize: raw },
        ]),
      );
      const handlers = Object.fromEntries(
        Object.entries(definition).map(([name, { responseStream }]) => [
          name,
          responseStream
            ? (call: { write(b: Uint8Array): void; end(): void }) => {
                call.write(answer);
                call.end();
              }
            : (_call: unknown, reply: (error: null, b: Uint8Array) => void) =>
                reply(null, name === "init" ? new Uint8Array() : answer),
        ]),
      );
      odd.addService(definition as never, handlers as never);
    }
    const socketPath = join(folder, "s");
    await new Promise((resolve) => odd.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), resolve));
    client = await connectPlugin({ socketPath, timeouts: { shortMs: 2_000, longMs: 2_000 } });
  });
  afterEach(() => {
    client.detach();
    odd.forceShutdown();
    rmSync(folder, { recursive: true, force: true });
  });

  const firstOf = async (stream: AsyncIterable<unknown>): Promise<unknown> => {
    for await (const item of stream) return item;
    return undefined;
  };
  const calls: ((signal: AbortSignal) => Promise<unknown>)[] = [
    () => client.info(),
    () => client.configSchema(),
    () => client.setConfig(new Uint8Array()),
    () => client.taskConfigSchema(),
    () => client.capabilities(),
    (signal) => firstOf(client.fingerprint(signal)),
    () => client.startTask(taskConfig()),
    () => client.waitTask("t"),
    () => client.inspectTask("t"),
    (signal) => firstOf(client.taskStats("t", 1, signal)),
    (signal) => firstOf(client.taskEvents(signal)),
    () => client.execTask("t", ["a"], 0),
    (signal) =>
      firstOf(client.execTaskStreaming("t", { command: ["a"], tty: false }, (async function* () {})(), signal)),
    () => client.createNetwork("a", "h"),
  ];

  it("takes any bytes in the place of an answer for a value or an error with a code", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...calls), fc.uint8Array({ maxLength: 60 }), async (call, bytes) => {
        answer = bytes;
        await rejection(call(new AbortController().signal));
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ["groups nested without end", DEEP_GROUPS],
    ["a length beyond its end", Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f)],
  ])("does not stumble over an answer of %s in any call", async (_what, bytes) => {
    answer = bytes;
    // Calls whose answer says nothing may skip over it.
    const codes = await Promise.all(calls.map((call) => rejection(call(new AbortController().signal))));
    expect(codes.filter((code) => code !== "").length).toBeGreaterThan(8);
  });

  it("refuses a schema that is nested without end", async () => {
    // Field 1 of the answer holds a spec, and each spec an array with one spec.
    let spec: Buffer = Buffer.alloc(0);
    const wrap = (tag: number, inner: Buffer): Buffer => {
      const length: number[] = [];
      for (let n = inner.length; ; n >>>= 7) {
        length.push(n > 127 ? (n & 127) | 128 : n);
        if (n <= 127) break;
      }
      return Buffer.concat([Uint8Array.of(tag, ...length), inner]);
    };
    for (let i = 0; i < 3_000; i++) spec = wrap(0x12, wrap(0x0a, spec));
    answer = wrap(0x0a, spec);
    expect(await rejection(client.taskConfigSchema())).toMatch(/^ERR_OUTRIDER_PLUGIN_/);
    let object = create(SpecSchema, { block: { case: "literal", value: { value: "1" } } });
    for (let i = 0; i < 1_000; i++)
      object = create(SpecSchema, { block: { case: "array", value: { values: [object] } } });
    expect(codeOf(() => fromSpec(object, "schema"))).toBe("ERR_OUTRIDER_PLUGIN_PROTOCOL");
  });
});
