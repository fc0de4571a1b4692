import { createSocket } from "node:dgram";
import { once } from "node:events";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import {
  createHookTelemetry,
  createMemorySink,
  HookTelemetryError,
  type HookTelemetryOptions,
  type Labels,
} from "../src/index.ts";
import { createPromClientSink } from "../src/prom-client/index.ts";
import { createStatsdSink } from "../src/statsd/index.ts";

const messageOf = (fn: () => unknown): string => {
  try {
    fn();
  } catch (e) {
    expect(e).toBeInstanceOf(HookTelemetryError);
    return (e as Error).message;
  }
  throw new Error("did not throw");
};
const make = (more: Partial<HookTelemetryOptions> = {}) => {
  const sink = createMemorySink();
  return { sink, telemetry: createHookTelemetry({ sink, labels: () => ({ a: "1" }), now: () => 0, ...more }) };
};

describe("messages say what is expected and what was given", () => {
  it("of the telemetry", () => {
    expect(messageOf(() => make({ sink: undefined as never }))).toBe(
      'hook telemetry: sink must be an object with incrCounter and addSample, got "undefined"',
    );
    expect(messageOf(() => make({ labels: 1 as never }))).toContain('labels must be a function, got "1"');
    expect(messageOf(() => make({ now: 1 as never }))).toContain('now must be a function, got "1"');
    expect(messageOf(() => make({ prefix: "a b" }))).toContain('prefix must be dotted parts without spaces, got "a b"');
    expect(messageOf(() => make().telemetry.emit(0, "x", "later" as never))).toMatch(
      /^hook telemetry: kind must be one of \w+(, \w+)+, got "later"$/,
    );
  });

  it("of the StatsD sink", async () => {
    expect(messageOf(() => createStatsdSink({ port: 65_536 }))).toContain('port must be a port number, got "65536"');
    expect(messageOf(() => createStatsdSink({ dialect: "x" as never }))).toContain("must be statsd or dogstatsd");
    expect(messageOf(() => createStatsdSink({ maxQueue: 0.5 }))).toContain('maxQueue must be a number >= 1, got "0.5"');
    await using sink = createStatsdSink({ port: 65_535, maxQueue: 1, maxPacketBytes: 1 });
    await sink[Symbol.asyncDispose]();
    expect(messageOf(() => sink.incrCounter("n", 1, {}))).toContain('sink must be open, got "a disposed one"');
  });
});

describe("defaults", () => {
  it("time is the process's own clock, and switched on is told", async () => {
    const { sink, telemetry } = make({ now: undefined as never });
    expect(telemetry.enabled).toBe(true);
    const before = performance.now();
    const start = telemetry.start();
    expect(start).toBeGreaterThanOrEqual(before);
    expect(start).toBeLessThanOrEqual(performance.now());
    while (performance.now() - start < 2);
    telemetry.emit(start, "x", "prerun");
    expect(sink.value("nomad.client.alloc_hook.prerun.elapsed")).toBeGreaterThanOrEqual(2);
  });

  it("a prefix of one part is one", () => {
    const { sink, telemetry } = make({ prefix: "app" });
    telemetry.emit(0, "x", "prerun");
    expect(sink.value("app.alloc_hook.prerun.success")).toBe(1);
  });

  it("a StatsD sink sends to 127.0.0.1", async () => {
    const socket = createSocket("udp4");
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    await using sink = createStatsdSink({ port: socket.address().port, host: undefined });
    sink.incrCounter("n", 1, {});
    const [message, from] = (await once(socket, "message")) as [Buffer, { address: string }];
    expect([String(message), from.address]).toEqual(["n:1.000000|c", "127.0.0.1"]);
    socket.close();
  });
});

describe("what a hook gives back", () => {
  // An object whose member happens to be called so.
  const almost = JSON.parse('{"then":1}') as object;
  it.each([[null], [{}], [almost], [0], [undefined]])(
    "%o is no promise: passed on as it is and measured at once",
    (value) => {
      const { sink, telemetry } = make();
      expect(telemetry.time("x", "prerun", () => value as unknown)).toBe(value);
      expect(sink.value("nomad.client.alloc_hook.prerun.success")).toBe(1);
    },
  );

  it("a failing sink without a reporter stays silent, and the hook's result comes through", () => {
    const broken = () => {
      throw new Error("sink");
    };
    const { telemetry } = make({ sink: { incrCounter: broken, addSample: broken } });
    expect(telemetry.time("x", "prerun", () => 5)).toBe(5);
  });
});

describe("labels", () => {
  it("one that changes its value shows from then on", () => {
    let pool = "default";
    const { sink, telemetry } = make({ labels: () => ({ node_pool: pool }) });
    telemetry.emit(0, "x", "prerun");
    pool = "gpu";
    telemetry.emit(0, "x", "prerun");
    expect(sink.value("nomad.client.alloc_hook.prerun.success", { node_pool: "default" })).toBe(1);
    expect(sink.value("nomad.client.alloc_hook.prerun.success", { node_pool: "gpu" })).toBe(1);
  });

  it("without a host there is no host label", () => {
    const { sink, telemetry } = make();
    telemetry.emit(0, "x", "prerun");
    expect(sink.series()[0]!.labels).toEqual({ a: "1", hook_name: "x" });
    expect(Object.keys(sink.series()[0]!.labels)).toEqual(["a", "hook_name"]);
  });

  it("are made once for 1024 hooks; one more makes them anew, so that generated names cannot pile up", () => {
    const seen: Labels[] = [];
    const sink = { incrCounter: (_n: string, _v: number, labels: Labels) => void seen.push(labels), addSample() {} };
    const { telemetry } = make({ sink });
    const emit = (i: number): Labels => {
      telemetry.emit(0, `hook${i}`, "prerun");
      return seen.at(-1)!;
    };
    const first = emit(0);
    for (let i = 1; i < 1024; i++) emit(i);
    expect(emit(0)).toBe(first);
    emit(1024);
    expect(emit(0)).not.toBe(first);
    expect(emit(0)).toEqual(first);
  });

  it("the memory sink knows a series by its labels, in whatever order and object they come", () => {
    const sink = createMemorySink();
    const both = { b: "2", a: "1" };
    sink.incrCounter("n", 1, both);
    sink.incrCounter("n", 1, { a: "1", b: "2" });
    sink.incrCounter("n", 1, both);
    sink.setGauge("n", 7, both);
    sink.incrCounter("n", 1, both);
    expect(sink.series()).toEqual([
      { kind: "counter", name: "n", labels: both, value: 4, count: 4 },
      { kind: "gauge", name: "n", labels: both, value: 7, count: 1 },
    ]);
  });
});

describe("prom-client", () => {
  it("removal takes the series that carry all the labels, not those that carry some", async () => {
    const register = new Registry();
    const sink = createPromClientSink({ register });
    sink.incrCounter("n", 1, { a: "1", b: "1" });
    sink.incrCounter("n", 1, { a: "1", b: "2" });
    sink.remove({ a: "1", b: "2" });
    const text = await register.metrics();
    expect(text).toContain('n{a="1",b="1"} 1');
    expect(text).not.toContain('b="2"');
  });

  it("samples are summaries unless told otherwise; histograms have prom-client's own buckets unless given", async () => {
    const summary = new Registry();
    createPromClientSink({ register: summary }).addSample("t", 3, {});
    expect(await summary.metrics()).toContain('t{quantile="0.5"}');
    const histogram = new Registry();
    createPromClientSink({ register: histogram, samples: "histogram" }).addSample("t", 3, {});
    expect(await histogram.metrics()).toContain('t_bucket{le="0.005"} 0');
    const given = new Registry();
    createPromClientSink({ register: given, samples: "histogram", buckets: [2, 4] }).addSample("t", 3, {});
    expect(await given.metrics()).toContain('t_bucket{le="4"} 1');
  });
});

describe("datagrams", () => {
  it("are filled to the last byte, and one byte more starts the next", async () => {
    const socket = createSocket("udp4");
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    const packets: string[] = [];
    socket.on("message", (message) => packets.push(String(message)));
    // "n:1.000000|c" has 12 bytes: two of them and the newline between make 25.
    for (const maxPacketBytes of [25, 24]) {
      await using sink = createStatsdSink({ port: socket.address().port, maxPacketBytes });
      sink.incrCounter("n", 1, {});
      sink.incrCounter("n", 1, {});
      await sink.flush();
    }
    while (packets.length < 3) await once(socket, "message");
    socket.close();
    expect(packets.map((packet) => packet.length)).toEqual([25, 12, 12]);
  });

  it("what is written after the first were sent goes out in a datagram of its own", async () => {
    const socket = createSocket("udp4");
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    const packets: string[] = [];
    socket.on("message", (message) => packets.push(String(message)));
    await using sink = createStatsdSink({ port: socket.address().port });
    sink.incrCounter("first", 1, {});
    while (packets.length === 0) await once(socket, "message");
    sink.incrCounter("second", 1, {});
    sink.incrCounter("third", 1, {});
    await sink.flush();
    while (packets.length < 2) await once(socket, "message");
    expect(packets).toEqual(["first:1.000000|c", "second:1.000000|c\nthird:1.000000|c"]);
    socket.close();
  });
});
