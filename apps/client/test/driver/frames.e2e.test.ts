import { systemClock } from "@outrider/backoff";
import { RecoverableError, StatsNotImplementedError, TaskNotFoundError } from "@outrider/plugin-driver";
import { OutriderError } from "@outrider/foundation";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FrameClient } from "../../src/driver/process-driver/rpc/frame-client.ts";
import { serveFrames } from "../../src/driver/process-driver/rpc/frame-server.ts";
import { encodeFrame, Kind, WINDOW } from "../../src/driver/process-driver/rpc/frame-wire.ts";
import { until } from "./harness.ts";

let folder: string;
let path: string;
let client: FrameClient;
let stop: () => void;
let aborted: string[];
let produced: number;
let received: unknown[];

const failures: Record<string, Error> = {
  recoverable: new RecoverableError("later", true),
  final: new RecoverableError("never", false),
  unknown: new TaskNotFoundError("x"),
  stats: new StatsNotImplementedError(),
  own: new OutriderError("ERR_OUTRIDER_LOGS_BUSY", "busy"),
  plain: new Error("plain"),
};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "outrider-frames-"));
  path = join(folder, "s");
  aborted = [];
  produced = 0;
  received = [];
  const server = await serveFrames(path, {
    calls: {
      echo: async (args) => args,
      fail: ([kind]) => Promise.reject(failures[kind as string] as Error),
      hang: (_args, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            aborted.push(String(signal.reason));
            reject(signal.reason as Error);
          }),
        ),
    },
    streams: {
      async *count([most], signal) {
        try {
          for (let value = 0; value < (most as number) && !signal.aborted; value++) {
            produced++;
            yield value;
          }
        } finally {
          aborted.push("count ended");
        }
      },
      async *broken() {
        yield 1;
        throw failures["final"] as Error;
      },
      async *upper(_args, _signal, input) {
        for await (const value of input) {
          received.push(value);
          yield String(value).toUpperCase();
        }
      },
    },
  });
  stop = server.close;
  client = (await FrameClient.open(path, systemClock, 1_000)) as FrameClient;
});
afterEach(() => {
  client.close();
  stop();
  rmSync(folder, { recursive: true, force: true });
});

const signal = new AbortController().signal;

describe("a call", () => {
  it("brings every kind of value there and back", async () => {
    const values = [
      { text: "ü\0", flag: true, none: null, big: 2n ** 60n, ms: 1_700_000_000_123, part: 0.5 },
      new Uint8Array([0, 255]),
      [],
      "x".repeat(1_000_000),
    ];
    expect(await client.call("echo", values)).toEqual(values);
    expect(await client.call("echo", [{ absent: undefined }])).toEqual([{}]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("fails with the same kind of error as there", async () => {
    for (const kind of ["recoverable", "final", "unknown", "stats", "own"]) {
      const { code, message, recoverable } = failures[kind] as OutriderError;
      await expect(client.call("fail", [kind])).rejects.toMatchObject({ code, message, recoverable });
    }
    await expect(client.call("fail", ["plain"])).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_CALL", status: 2 });
    await expect(client.call("toString", [])).rejects.toThrow(/no method "toString"/);
  });

  it("is told there when nobody wants its answer any more", async () => {
    const control = new AbortController();
    const call = client.call("hang", [], { signal: control.signal });
    const slow = client.call("hang", [], { timeoutMs: 20 });
    await expect(slow).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_TIMEOUT" });
    control.abort(new Error("no more"));
    await expect(call).rejects.toThrow("no more");
    await until("abort", () => aborted.length === 2);
    await expect(client.call("echo", [], { signal: control.signal })).rejects.toThrow("no more");
  });

  it("with values that cannot be read fails alone", async () => {
    const other = client.call("hang", []);
    const bad = JSON.parse('{"__proto__":1}') as object;
    await expect(client.call("echo", [bad])).rejects.toThrow(/cannot be read/);
    expect(await client.call("echo", [1])).toEqual([1]);
    client.close();
    await expect(other).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
  });

  it("rejects on a connection that is gone, also when made afterwards", async () => {
    const pending = client.call("hang", []);
    const stream = client.stream("count", [1_000], signal);
    await stream.next();
    stop();
    await expect(pending).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    await client.gone;
    expect(client.isGone).toBe(true);
    await expect(client.call("echo", [])).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    await expect(client.stream("count", [1], signal).next()).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN",
    });
    await until("abort", () => aborted.length >= 2 && aborted.includes("count ended"));
  });
});

describe("a stream", () => {
  it("gives all values, then its end or its failure", async () => {
    const values: number[] = [];
    for await (const value of client.stream<number>("count", [100], signal)) values.push(value);
    expect(values).toEqual(Array.from({ length: 100 }, (_, index) => index));
    const broken = client.stream<number>("broken", [], signal);
    expect(await broken.next()).toEqual({ done: false, value: 1 });
    await expect(broken.next()).rejects.toMatchObject({ message: "never" });
    expect(await broken.next()).toEqual({ done: true, value: undefined });
  });

  it("runs ahead of a slow reader by its window only, and holds up nobody else", async () => {
    const slow = client.stream<number>("count", [1_000_000], signal);
    expect(await slow.next()).toMatchObject({ value: 0 });
    for (let calls = 0; calls < 20; calls++) await client.call("echo", []);
    expect(produced).toBeLessThanOrEqual(WINDOW + 2);
    expect(await slow.return?.()).toEqual({ done: true, value: undefined });
    await until("the end of the source", () => aborted.includes("count ended"));
    expect(await slow.next()).toEqual({ done: true, value: undefined });
  });

  it("ends with the signal's reason at once, and before its first value", async () => {
    const control = new AbortController();
    const stream = client.stream<string>("upper", [], control.signal, never());
    const next = stream.next();
    control.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    await expect(client.stream("count", [1], control.signal).next()).rejects.toThrow("enough");
    const unread = client.stream("count", [1], signal);
    expect(await unread.return?.()).toEqual({ done: true, value: undefined });
    expect(produced).toBe(0);
  });

  it("takes values of the agent meanwhile, as fast as they are read there", async () => {
    async function* words(): AsyncGenerator<string> {
      for (let index = 0; index < 50; index++) yield `w${index}`;
    }
    const answers: string[] = [];
    for await (const answer of client.stream<string>("upper", [], signal, words())) answers.push(answer);
    expect(answers).toHaveLength(50);
    expect(answers.at(-1)).toBe("W49");
    async function* bad(): AsyncGenerator<string> {
      yield "one";
      throw new Error("keyboard broke");
    }
    const broken = client.stream<string>("upper", [], signal, bad());
    await expect(
      (async () => {
        for await (const _ of broken);
      })(),
    ).rejects.toThrow("keyboard broke");
  });
});

describe("a connection", () => {
  it("ends when the other side speaks no frames", async () => {
    const socket = connect(path);
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    await new Promise((resolve) => socket.once("close", resolve));
    expect(await client.call("echo", ["still"])).toEqual(["still"]);
  });

  it("ignores frames of calls that it does not know, and reads frames in pieces", async () => {
    const socket = connect(path);
    const bytes = Buffer.concat([
      encodeFrame([Kind.credit, 77, 1]),
      encodeFrame([Kind.cancel, 78]),
      encodeFrame([Kind.call, 1, "echo", ["a"]]),
    ]);
    let answer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => (answer = Buffer.concat([answer, chunk])));
    for (const byte of bytes) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until("answer", () => answer.length > 0);
    expect(answer).toEqual(encodeFrame([Kind.end, 1, ["a"]]));
    socket.destroy();
  });

  it("is none where nobody listens or accepts", async () => {
    expect(await FrameClient.open(join(folder, "none"), systemClock, 100)).toBeUndefined();
    const deaf = createServer();
    await new Promise<void>((resolve) => deaf.listen(join(folder, "d"), resolve));
    deaf.close();
    expect(await FrameClient.open(join(folder, "d"), systemClock, 100)).toBeUndefined();
  });
});

function never(): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<IteratorResult<string>>(() => undefined),
      return: async () => ({ done: true, value: undefined }),
    }),
  };
}
