import { appendFileSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jobBody, ServerHarness } from "../server/harness.ts";
import { systemClock } from "@outrider/backoff";
import { FairTurns } from "../../src/http/index.ts";
import { until } from "../driver/harness.ts";
import { HttpHarness } from "./harness.ts";

let h: ServerHarness;
let api: HttpHarness;
beforeEach(async () => {
  h = await new ServerHarness().start();
  await serve({ headersMs: 600, requestMs: 900 });
});
async function serve(timeouts?: { headersMs: number; requestMs: number }): Promise<void> {
  api = new HttpHarness(h, {
    realTime: true,
    limits: { queries: 64, streams: 4 },
    server: { ...(timeouts === undefined ? {} : { timeouts }), turns: new FairTurns(systemClock) },
  });
  await api.http.listen();
}
afterEach(() => api.close());

function raw(text: string, o: { end?: boolean } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(api.http.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => (answer += String(chunk)));
    socket.once("close", () => resolve(answer));
    socket.once("error", reject);
    if (o.end === true) socket.end(text);
    else socket.write(text);
  });
}

const get = (path: string): Promise<IncomingMessage> =>
  new Promise(
    (resolve, reject) =>
      void request({ port: api.http.port, host: "127.0.0.1", path, agent: false }, resolve).once("error", reject).end(),
  );

describe("clients over real sockets", () => {
  it("that close their half after the request get their answer", async () => {
    const answer = await raw("GET /v1/regions HTTP/1.1\r\nHost: localhost\r\n\r\n", { end: true });
    expect(answer).toContain("200 OK");
    expect(answer).toContain('["global"]');
  });

  it("that never finish their headers or body are let go", async () => {
    const start = performance.now();
    const [slowHeaders, slowBody] = await Promise.all([
      raw("GET /v1/regions HTTP/1.1\r\nHost: loc"),
      raw("PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"),
    ]);
    expect(performance.now() - start).toBeLessThan(5000);
    for (const answer of [slowHeaders, slowBody]) expect(answer === "" || answer.includes("408")).toBe(true);
    expect((await get("/v1/regions")).statusCode).toBe(200);
  });

  it("that announce a huge body are refused before it is read", async () => {
    const before = process.memoryUsage().rss;
    const answer = await raw("PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 209715200\r\n\r\n{");
    expect(answer).toContain("413");
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  });

  it("that send huge headers or no HTTP at all are refused", async () => {
    expect(await raw(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(100_000)}\r\n\r\n`)).toContain("431");
    expect(await raw("hello\r\n\r\n")).toContain("400");
    expect(await raw("GET /v1/regions HTTP/1.0\r\n\r\n")).toContain("400");
  });

  it("that send many requests at once get every answer, without a warning", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    const ask = "GET /v1/regions HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const answer = await raw(ask.repeat(50), { end: true });
    process.off("warning", onWarning);
    expect(answer.split("200 OK")).toHaveLength(51);
    expect(warnings).toEqual([]);
  });

  it("cannot lock others out with waiting queries", async () => {
    const index = Number((await get("/v1/nodes")).headers["x-nomad-index"]);
    const sockets: Socket[] = [];
    let answered = 0;
    for (let i = 0; i < 300; i++) {
      const socket = connect(api.http.port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.once("data", () => answered++);
      socket.write(`GET /v1/nodes?index=${index}&wait=60s HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      sockets.push(socket);
    }
    // Refused, or answered early when later ones needed their places.
    await until("answers for all that find no place", () => answered === 300 - 64);
    expect(h.server.state.feed.waiting).toBe(64);
    const answers = await Promise.all(Array.from({ length: 20 }, () => get("/v1/jobs")));
    expect(answers.every((a) => a.statusCode === 200)).toBe(true);
    // Nobody had to go for that, and no time of theirs was over.
    expect(h.server.state.feed.waiting).toBe(64);
    // Another one is refused, or takes the place of one that has waited long enough.
    expect([429, 200]).toContain((await get(`/v1/nodes?index=${index}&wait=1s`)).statusCode);
    expect(h.server.state.feed.waiting).toBeLessThanOrEqual(64);
    for (const socket of sockets) socket.destroy();
    await until("their end", () => h.server.state.feed.waiting === 0);
  });

  it("cannot lock others out with connections that ask without end", async () => {
    const sockets: Socket[] = [];
    let answers = 0;
    const ask = "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (let i = 0; i < 1500; i++) {
      const socket = connect(api.http.port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.on("data", () => {
        answers++;
        socket.write(ask);
      });
      socket.write(ask);
      sockets.push(socket);
    }
    await until("a crowd that gets answers", () => answers > 1500, 60_000);
    const before: number[] = [];
    for (let i = 0; i < 10; i++) {
      const start = answers;
      expect((await get("/v1/regions")).statusCode).toBe(200);
      before.push(answers - start);
    }
    for (const socket of sockets) socket.destroy();
    // Whoever comes anew waits while each of the crowd is served once or twice, not many times: the server keeps 1024 of them.
    expect(before.sort((a, b) => a - b)[5]).toBeLessThan(2048);
  });

  it("make room for others when they hold more connections than there may be", async () => {
    // With the times of a real agent: none of them is let go for being slow.
    await api.close();
    h = await new ServerHarness().start();
    await serve();
    const sockets: Socket[] = [];
    for (let i = 0; i < 1200; i++) {
      const socket = connect(api.http.port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.resume();
      // Half of them begin a request that they never finish.
      if (i % 2 === 0) socket.write("GET /v1/jobs HTT");
      sockets.push(socket);
    }
    await until("all connections", () => sockets.every((s) => !s.connecting));
    expect((await get("/v1/regions")).statusCode).toBe(200);
    await until("room", () => sockets.filter((s) => s.closed || s.destroyed).length > 150);
    for (const socket of sockets) socket.destroy();
  });

  it("follow a log live with heartbeats, and take nothing with them when they leave", async () => {
    await h.submit(jobBody("web"));
    await h.obey("web");
    const id = h.live("web")[0]!.ID;
    await api.allocDir(id, "t", { "t.stdout.0": "first\n" });
    const response = await get(`/v1/client/fs/logs/${id}?task=t&type=stdout&follow=true&offset=0&origin=start`);
    expect(response.headers["content-type"]).toBe("application/json");
    let text = "";
    response.on("data", (chunk) => (text += String(chunk)));
    await until("the first line", () => text.endsWith("}"));
    expect(JSON.parse(text).Data).toBe(Buffer.from("first\n").toString("base64"));
    appendFileSync(join(api.root, id, "alloc", "logs", "t.stdout.0"), "second\n");
    await until("the second line", () => text.includes(Buffer.from("second\n").toString("base64")));
    await until("a heartbeat", () => text.includes("{}"));
    const slots = [0, 1, 2].map(() => api.waiting.openStream());
    expect(() => api.waiting.openStream()).toThrow();
    response.destroy();
    // The stream gives its place back within a second (hashicorp/nomad#2079): looked for in steps, so that a busy machine gets its time.
    for (let step = 0; step < 45 && slots.length === 3; step++) {
      await sleep(20);
      try {
        slots.push(api.waiting.openStream());
      } catch {
        // not yet
      }
    }
    expect(slots).toHaveLength(4);
    for (const slot of slots) slot.close();
  });

  it("end their logs when a followed file's way turns into something else, and nothing else notices", async () => {
    await h.submit(jobBody("web"));
    await h.obey("web");
    const id = h.live("web")[0]!.ID;
    await api.allocDir(id, "t", { "t.stdout.0": "first\n" });
    const response = await get(`/v1/client/fs/stream/${id}?path=alloc/logs/t.stdout.0&offset=0`);
    const ended = new Promise((resolve) => response.once("close", resolve));
    response.resume();
    const { renameSync, writeFileSync } = await import("node:fs");
    await sleep(200);
    renameSync(join(api.root, id, "alloc"), join(api.root, id, "moved"));
    writeFileSync(join(api.root, id, "alloc"), "a file now");
    await ended;
    expect((await get("/v1/jobs")).statusCode).toBe(200);
    const { rmSync } = await import("node:fs");
    rmSync(join(api.root, id, "alloc"));
    renameSync(join(api.root, id, "moved"), join(api.root, id, "alloc"));
  });

  it("hear of changes as they happen, by topic and from an index on", async () => {
    const since = h.server.state.index;
    const response = await get("/v1/event/stream?topic=Job&topic=Evaluation:none");
    let text = "";
    response.on("data", (chunk) => (text += String(chunk)));
    await until("a first sign", () => text !== "");
    expect(text).toBe("{}\n");
    await h.submit(jobBody("web"));
    await until("the event", () => text.includes("JobRegistered") && text.endsWith("\n"));
    const [, ...lines] = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.flatMap((l: any) => l.Events.map((e: any) => [e.Topic, e.Type, e.Key, e.Payload.Job.ID]))).toEqual([
      ["Job", "JobRegistered", "web", "web"],
    ]);
    expect(lines[0].Index).toBeGreaterThan(since);
    response.destroy();

    const back = await get(`/v1/event/stream?topic=Allocation&index=${since}`);
    let older = "";
    back.on("data", (chunk) => (older += String(chunk)));
    await until("the older events", () => older.includes("PlanResult") && older.endsWith("\n"));
    expect(JSON.parse(older.trim().split("\n")[1]!).Events[0]).toMatchObject({
      Topic: "Allocation",
      Type: "PlanResult",
      Payload: { Allocation: { JobID: "web", ClientStatus: "pending" } },
    });
    expect(older).not.toContain('"Job":{');
    back.destroy();
    expect((await get("/v1/event/stream?topic=a:b:c")).statusCode).toBe(400);
    expect((await get("/v1/event/stream?topic=Nothing")).statusCode).toBe(400);
    const other = await get("/v1/event/stream?topic=*&namespace=mars&index=1");
    let mars = "";
    other.on("data", (chunk) => (mars += String(chunk)));
    await until("a sign", () => mars !== "");
    await sleep(150);
    expect(mars.includes("JobRegistered")).toBe(false);
    other.destroy();
  });

  it("are all let go at once when the server ends", async () => {
    const index = Number((await get("/v1/nodes")).headers["x-nomad-index"]);
    const waiting = get(`/v1/nodes?index=${index}&wait=60s`).catch((reason: unknown) => reason);
    const stream = await get("/v1/event/stream");
    stream.on("error", () => undefined);
    const start = performance.now();
    await sleep(100);
    await api.http.close();
    expect(performance.now() - start).toBeLessThan(1500);
    await waiting;
  });
});
