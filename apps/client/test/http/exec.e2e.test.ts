import type { ExecOutput } from "@outrider/plugin-driver";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { jobBody, ServerHarness } from "../server/harness.ts";
import { until } from "../driver/harness.ts";
import { HttpHarness } from "./harness.ts";

let h: ServerHarness;
let api: HttpHarness;
let id: string;

beforeEach(async () => {
  h = await new ServerHarness().start();
  api = new HttpHarness(h, { realTime: true, limits: { queries: 8, streams: 3 } });
  await api.http.listen();
  await h.server.register(jobBody("web"));
  await h.settle?.();
  await until("an allocation", () => h.server.state.tables.allocs.size > 0);
  const alloc = [...h.server.state.tables.allocs.values()][0]!;
  id = alloc.ID;
  await api.allocDir(id, taskName(), {});
});
afterEach(() => api.close());

const taskName = (): string => {
  const alloc = h.server.state.tables.allocs.get(id)!;
  return alloc.Job!.TaskGroups!.find((g) => g.Name === alloc.TaskGroup)!.Tasks![0]!.Name;
};

interface Session {
  readonly socket: WebSocket;
  readonly frames: unknown[];
  readonly closed: Promise<{ code: number; reason: string }>;
}

function open(
  o: {
    tty?: boolean;
    task?: string;
    command?: unknown;
    more?: string;
    headers?: Record<string, string>;
    id?: string;
  } = {},
): Session {
  const query = new URLSearchParams({
    task: o.task ?? taskName(),
    command: typeof o.command === "string" ? o.command : JSON.stringify(o.command ?? ["sh"]),
    tty: String(o.tty ?? false),
  });
  const path = `/v1/client/allocation/${o.id ?? id}/exec?${query.toString()}${o.more ?? ""}`;
  const socket = new WebSocket(`ws://127.0.0.1:${api.http.port}${path}`, { headers: o.headers ?? {} });
  const frames: unknown[] = [];
  socket.on("message", (data: Buffer) => frames.push(JSON.parse(data.toString())));
  const closed = new Promise<{ code: number; reason: string }>((resolve, reject) => {
    socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    socket.on("error", reject);
  });
  closed.catch(() => undefined);
  return { socket, frames, closed };
}

const opened = (socket: WebSocket): Promise<void> => new Promise((resolve) => socket.once("open", () => resolve()));
const exit = (exitCode: number): ExecOutput => ({ exited: { exitCode, signal: 0, oomKilled: false } });

describe("exec over a websocket", () => {
  it("relays both ways and ends with the exit", async () => {
    const seen: unknown[] = [];
    api.exec = async function* (request, input) {
      seen.push(request);
      for await (const { stdin, ttySize } of input) {
        if (ttySize !== undefined) seen.push(ttySize);
        if (stdin?.data !== undefined) yield { stdout: { data: stdin.data } };
        if (stdin?.close === true) break;
      }
      yield { stderr: { data: Buffer.from("err"), close: true } };
      yield { stdout: { close: true } };
      yield exit(7);
    };
    const { socket, frames, closed } = open({ command: ["cat", "-u"] });
    await opened(socket);
    for (const message of [{ tty_size: {} }, {}, { stdin: { data: "aGk=" } }, { stdin: { close: true } }])
      socket.send(JSON.stringify(message));
    expect(await closed).toEqual({ code: 1000, reason: "" });
    expect(seen).toEqual([{ task: taskName(), command: ["cat", "-u"], tty: false }]);
    expect(frames).toEqual([
      { stdout: { data: "aGk=" } },
      { stderr: { data: "ZXJy", close: true } },
      { stdout: { close: true } },
      { exited: true, result: { exit_code: 7 } },
    ]);
  });

  it("has no error output on a terminal", async () => {
    api.exec = async function* () {
      yield { stderr: { close: true } };
      yield { stdout: { close: true } };
      yield exit(0);
    };
    const { frames, closed } = open({ tty: true });
    await closed;
    expect(frames).toEqual([{ stdout: { close: true } }, { exited: true, result: {} }]);
  });

  it.each([
    ["no task", { task: "" }, 1008, "must provide task name"],
    ["an unknown task", { task: "zzz" }, 1008, 'unknown task name "zzz"'],
    ["no command", { command: [] }, 1008, "command is not present"],
    ["an odd command", { command: "{" }, 1008, "command is not a JSON list"],
    ["an odd command's word", { command: [1] }, 1008, "command is not a JSON list of texts"],
    ["an unknown allocation", { id: "00000000-0000-4000-8000-000000000000" }, 1008, "Unknown allocation"],
    ["an id that is none", { id: "zzz" }, 1011, "UUID must be 36 characters"],
  ])("tells in the close frame of %s", async (_what, o, code, reason) => {
    const end = await open(o).closed;
    expect(end.code).toBe(code);
    expect(end.reason).toContain(reason);
  });

  it("tells of a failure of the driver in the close frame, shortened to what one holds", async () => {
    api.exec = async function* () {
      yield* [];
      throw new Error(`failed to start command: ${"x".repeat(300)}`);
    };
    const { code, reason } = await open().closed;
    expect(code).toBe(1011);
    expect(reason).toMatch(/^failed to start command: x+…$/);
  });

  it("ends the command when the client goes, with or without a word", async () => {
    let started = 0;
    let ended = 0;
    api.exec = async function* (_request, _input, signal) {
      started += 1;
      yield { stdout: { data: Buffer.from("x") } };
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      ended += 1;
    };
    const polite = open();
    const rude = open();
    await until("both", () => started === 2 && polite.frames.length + rude.frames.length === 2);
    polite.socket.close();
    rude.socket.terminate();
    await until("their end", () => ended === 2);
  });

  it("holds the program back when the client does not read", async () => {
    let sent = 0;
    api.exec = async function* () {
      for (;;) {
        yield { stdout: { data: Buffer.alloc(65_536) } };
        sent += 1;
      }
    };
    const { socket } = open();
    await opened(socket);
    socket.pause();
    await until("its start", () => sent > 0);
    let last = -1;
    while (last !== sent) {
      last = sent;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(sent * 65_536).toBeLessThan(64 * 1024 * 1024);
    socket.terminate();
  });

  it("holds the client back when the program does not read", async () => {
    let go: () => void = () => undefined;
    let bytes = 0;
    api.exec = async function* (_request, input) {
      await new Promise<void>((resolve) => (go = resolve));
      for await (const { stdin } of input) {
        bytes += stdin?.data?.length ?? 0;
        if (stdin?.close === true) break;
      }
      yield exit(0);
    };
    const { socket, closed } = open();
    await opened(socket);
    const data = Buffer.alloc(49_152).toString("base64");
    for (let i = 0; i < 2000; i++) socket.send(JSON.stringify({ stdin: { data } }));
    socket.send(JSON.stringify({ stdin: { close: true } }));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(socket.bufferedAmount).toBeGreaterThan(10 * 1024 * 1024);
    go();
    await closed;
    expect(bytes).toBe(2000 * 49_152);
  });

  it.each([
    ["no JSON", "nonsense", "not JSON"],
    ["a size that is none", '{"tty_size":{"height":-1}}', "tty_size"],
  ])("refuses %s and ends the command", async (_what, text, why) => {
    let ended = false;
    api.exec = async function* (_request, _input, signal) {
      yield* [];
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      ended = true;
      throw signal.reason;
    };
    const { socket, closed } = open();
    await opened(socket);
    socket.send(text);
    const end = await closed;
    expect(end.code).toBe(1008);
    expect(end.reason).toContain(why);
    await until("its end", () => ended);
  });

  it("asks for a greeting when one was announced, with a token that agrees", async () => {
    const run = async (greeting: object, headers: Record<string, string> = {}): Promise<number> => {
      api.exec = async function* (_request, input) {
        for await (const { stdin } of input) if (stdin?.close === true) break;
        yield exit(0);
      };
      const { socket, closed } = open({ more: "&ws_handshake=true", headers });
      await opened(socket);
      socket.send(JSON.stringify(greeting));
      socket.send(JSON.stringify({ stdin: { close: true } }));
      return (await closed).code;
    };
    expect(await run({ version: 1 })).toBe(1000);
    expect(await run({ version: 1, auth_token: "a" }, { "x-nomad-token": "a" })).toBe(1000);
    expect(await run({ version: 1, auth_token: "b" }, { "x-nomad-token": "a" })).toBe(1008);
    expect(await run({ version: 2 })).toBe(1008);
    expect(await run({ stdin: { data: "aGk=" } })).toBe(1008);
  });

  it("is refused to pages of others, and above the number of streams, with a status", async () => {
    await expect(open({ headers: { origin: "http://evil.example" } }).closed).rejects.toThrow("403");
    await expect(open({ headers: { host: "evil.example" } }).closed).rejects.toThrow("403");
    api.exec = async function* (_request, _input, signal) {
      yield* [];
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    };
    const some = [open(), open(), open()];
    await Promise.all(some.map(({ socket }) => opened(socket)));
    await expect(open().closed).rejects.toThrow("429");
    for (const { socket } of some) socket.terminate();
  });

  it("does not keep the agent from ending", async () => {
    api.exec = async function* (_request, _input, signal) {
      yield* [];
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      throw signal.reason;
    };
    const { socket, closed } = open();
    const stalled = open();
    await Promise.all([opened(socket), opened(stalled.socket)]);
    stalled.socket.pause();
    const from = performance.now();
    await api.http.close();
    expect(performance.now() - from).toBeLessThan(2000);
    expect((await closed).code).toBe(1001);
  });
});

describe("other protocols", () => {
  const raw = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(api.http.port, "127.0.0.1", () => socket.write(text));
      let answer = "";
      socket.on("data", (chunk) => (answer += String(chunk)));
      socket.once("close", () => resolve(answer));
      socket.once("error", reject);
    });
  const upgrade =
    "Host: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n";

  it("are not spoken: a plain request is answered as ever", async () => {
    const answer = await raw(`GET /v1/regions HTTP/1.1\r\n${upgrade}`);
    expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
    expect(answer).toContain('["global"]');
  });

  it("and a request with a body is refused, because its body could be the other protocol's", async () => {
    expect(await raw(`PUT /v1/jobs HTTP/1.1\r\n${upgrade}`)).toMatch(/^HTTP\/1.1 400 /);
  });

  it("exec itself wants a websocket", async () => {
    const path = `/v1/client/allocation/${id}/exec?task=t`;
    expect(await raw(`GET ${path} HTTP/1.1\r\n${upgrade}`)).toMatch(/^HTTP\/1.1 400 /);
    expect(await raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)).toContain(
      "is a websocket",
    );
    expect(
      await raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`),
    ).toMatch(/^HTTP\/1.1 4\d\d /);
  });
});
