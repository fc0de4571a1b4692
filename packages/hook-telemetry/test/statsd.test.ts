import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { StatsD } from "hot-shots";
import { afterEach, describe, expect, it } from "vitest";
import { createHookTelemetry } from "../src/index.ts";
import { createHotShotsSink, createStatsdSink } from "../src/statsd/index.ts";

const open: Socket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.close();
});

/** A real UDP socket on loopback that keeps what it gets. */
async function receiver(family: "udp4" | "udp6" = "udp4") {
  const socket = createSocket(family);
  open.push(socket);
  socket.bind(0, family === "udp4" ? "127.0.0.1" : "::1");
  await once(socket, "listening");
  const packets: string[] = [];
  socket.on("message", (message) => packets.push(message.toString()));
  const until = async (count: number) => {
    while (packets.length < count) await once(socket, "message");
  };
  return { port: socket.address().port, packets, until, lines: () => packets.flatMap((packet) => packet.split("\n")) };
}
const labels = () => ({
  node_id: "n1",
  datacenter: "dc1",
  node_class: "none",
  node_pool: "default",
  namespace: "default",
  host: "h1",
});

describe("over a real UDP socket", () => {
  it("plain StatsD has Nomad's lines: label values in order behind the name, six decimals", async () => {
    const server = await receiver();
    await using sink = createStatsdSink({ port: server.port });
    const telemetry = createHookTelemetry({ sink, labels, now: () => 12.5 });
    telemetry.emit(0, "network", "prerun");
    telemetry.emit(0, "artifacts", "prestart", new Error("x"));
    await server.until(1);
    expect(server.lines()).toEqual([
      "nomad.client.alloc_hook.prerun.elapsed.n1.dc1.none.default.default.network.h1:12.500000|ms",
      "nomad.client.alloc_hook.prerun.success.n1.dc1.none.default.default.network.h1:1.000000|c",
      "nomad.client.task_hook.prestart.elapsed.n1.dc1.none.default.default.artifacts.h1:12.500000|ms",
      "nomad.client.task_hook.prestart.failed.n1.dc1.none.default.default.artifacts.h1:1.000000|c",
    ]);
    expect(sink.dropped).toBe(0);
  });

  it("DogStatsD has the labels as tags", async () => {
    const server = await receiver();
    await using sink = createStatsdSink({ port: server.port, dialect: "dogstatsd", host: "localhost" });
    sink.incrCounter("n", 1, { a: "x y", b: "1,2|3" });
    sink.setGauge("g", 1.5, {});
    await server.until(1);
    expect(server.lines()).toEqual(["n:1|c|#a:x_y,b:1_2_3", "g:1.5|g"]);
  });

  it("values cannot break out of their line", async () => {
    const server = await receiver();
    await using sink = createStatsdSink({ port: server.port });
    sink.incrCounter("n", 1, { a: "evil:9|c\nother:1|c", b: "two words" });
    await server.until(1);
    expect(server.lines()).toEqual(["n.evil_9_c_other_1_c.two_words:1.000000|c"]);
  });

  it("lines of one turn are packed into datagrams of at most 1400 bytes; a longer line goes alone", async () => {
    const server = await receiver();
    await using sink = createStatsdSink({ port: server.port });
    const long = "x".repeat(2000);
    for (let i = 0; i < 200; i++) sink.incrCounter(`metric.number.${i}`, i, labels());
    sink.incrCounter(long, 1, {});
    await sink.flush();
    const sizes = () => server.packets.map((packet) => packet.length);
    while (server.lines().length < 201) await server.until(server.packets.length + 1);
    expect(server.packets.length).toBeLessThan(20);
    expect(sizes().filter((size) => size > 1400)).toEqual([long.length + ":1.000000|c".length]);
    expect(new Set(server.lines()).size).toBe(201);
  });

  it("drops and counts what the queue cannot hold", async () => {
    const server = await receiver();
    await using sink = createStatsdSink({ port: server.port, maxQueue: 3 });
    for (let i = 0; i < 5; i++) sink.incrCounter(`n${i}`, 1, {});
    expect(sink.dropped).toBe(2);
    await server.until(1);
    expect(server.lines()).toHaveLength(3);
  });

  it("sends in later turns what was written while it was sending", async () => {
    const server = await receiver();
    await using sink = createStatsdSink({ port: server.port });
    sink.incrCounter("a", 1, {});
    await new Promise((resolve) => setImmediate(resolve));
    sink.incrCounter("b", 1, {});
    await sink.flush();
    await server.until(2);
    expect(server.packets).toEqual(["a:1.000000|c", "b:1.000000|c"]);
  });

  it("nobody listening, or a host that is no host, is told and breaks nothing", async () => {
    const gone = await receiver();
    open.pop()!.close();
    const errors: string[] = [];
    {
      await using sink = createStatsdSink({
        port: gone.port,
        onError: (error) => errors.push((error as { code?: string }).code ?? error.message),
      });
      for (let i = 0; i < 3; i++) {
        sink.incrCounter("n", 1, {});
        await sink.flush();
      }
    }
    expect(errors.length).toBeGreaterThan(0);
    const nowhere: Error[] = [];
    {
      await using sink = createStatsdSink({ host: "::1", onError: (error) => nowhere.push(error) });
      sink.incrCounter("n", 1, {});
      await sink.flush();
      expect(sink.dropped).toBe(1);
    }
    expect(nowhere.length).toBeGreaterThan(0);
    {
      await using sink = createStatsdSink({ host: "::1" });
      sink.incrCounter("n", 1, {});
    }
  });

  it("a disposed sink refuses, and disposing twice is harmless", async () => {
    const sink = createStatsdSink();
    await sink[Symbol.asyncDispose]();
    await sink[Symbol.asyncDispose]();
    expect(() => sink.incrCounter("n", 1, {})).toThrow(expect.objectContaining({ code: "CLOSED" }));
  });

  it.each([
    ["port", { port: 0 }],
    ["port", { port: 70_000 }],
    ["dialect", { dialect: "telegraf" }],
    ["maxPacketBytes", { maxPacketBytes: 0 }],
    ["maxQueue", { maxQueue: Number.NaN }],
  ])("a wrong %s is refused by name", (field, options) => {
    expect(() => createStatsdSink(options as never)).toThrow(expect.objectContaining({ code: "OPTION", field }));
  });
});

describe("through a hot-shots client", () => {
  it.each([
    ["dogstatsd", ["n:2|c|#a:x", "t:7.5|ms|#a:x", "g:3|g|#a:x"]],
    ["statsd", ["n.x:2|c", "t.x:7.5|ms", "g.x:3|g"]],
  ] as const)("%s arrives at a real UDP socket", async (dialect, expected) => {
    const server = await receiver();
    const client = new StatsD({ host: "127.0.0.1", port: server.port, maxBufferSize: 0 });
    const sink = createHotShotsSink({ client, dialect });
    sink.incrCounter("n", 2, { a: "x" });
    sink.addSample("t", 7.5, { a: "x" });
    sink.setGauge("g", 3, { a: "x" });
    await server.until(3);
    expect(new Set(server.lines())).toEqual(new Set(expected));
    await new Promise((resolve) => client.close(resolve));
  });

  it("takes tags by default", () => {
    const calls: unknown[] = [];
    const client = {
      increment: (...args: unknown[]) => void calls.push(args),
      timing: () => undefined,
      gauge: () => undefined,
    };
    createHotShotsSink({ client }).incrCounter("n", 1, { a: "b" });
    expect(calls).toEqual([["n", 1, ["a:b"]]]);
  });
});
