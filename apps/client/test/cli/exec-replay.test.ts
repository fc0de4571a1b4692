import { ManualClock } from "@outrider/backoff/testing";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import type { CommandContext, UserTerminal } from "../../src/cli/command.ts";
import { EscapeKeys } from "../../src/cli/escape-keys.ts";
import { COMMANDS } from "../../src/cli/index.ts";
import { runCommand } from "../../src/cli/run.ts";
import { userTerminal } from "../../src/cli/user-terminal.ts";

interface Frame {
  readonly dir: "client" | "server";
  readonly ms?: number;
  readonly op: "text" | "close";
  readonly json?: unknown;
  readonly code?: number;
  readonly reason?: string;
}

interface Recording {
  readonly command: string;
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdin?: string | readonly (readonly [number, string | null])[];
  readonly exchanges: readonly {
    readonly via: "addr" | "node";
    readonly path: string;
    readonly status: number;
    readonly response_body?: unknown;
    readonly ws_frames?: readonly Frame[];
  }[];
}

const FOLDER = new URL("../fixtures/cli-exec/", import.meta.url);
const names = readdirSync(FOLDER).map((file) => file.replace(".json", ""));
const recording = (name: string): Recording =>
  JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")) as Recording;
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map((m) => m[1] ?? (m[2] as string)).slice(1);
const normal = (path: string): string => {
  const url = new URL(path, "http://x");
  for (const name of ["region", "namespace"]) url.searchParams.delete(name);
  url.searchParams.sort();
  // a shell's operators are written in different ways
  const command = url.searchParams.get("command");
  if (command !== null) url.searchParams.set("command", JSON.stringify(JSON.parse(command)));
  return `${url.pathname}?${url.searchParams.toString()}`;
};

/** An agent that says what the recorded one said, each frame after the client's frames that came before it. */
async function agentOf(record: Recording): Promise<{ address: string; heard: unknown[]; close(): void }> {
  const heard: unknown[] = [];
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer((request, response) => {
    const found = record.exchanges.find((e) => normal(e.path) === normal(request.url ?? ""));
    response.writeHead(found?.status ?? 404, { "content-type": "application/json" });
    response.end(JSON.stringify(rewritten(found?.response_body ?? "not recorded")));
  });
  /** The node's own address is this very server. */
  const rewritten = (body: unknown): unknown =>
    typeof body === "object" && body !== null && "HTTPAddr" in body
      ? { ...body, HTTPAddr: `127.0.0.1:${record.exchanges.some((e) => e.via === "node") ? port() : 1}` }
      : body;
  const port = (): number => (server.address() as AddressInfo).port;
  server.on("upgrade", (request, socket, head) => {
    const found = record.exchanges.find(
      (e) => e.ws_frames !== undefined && normal(e.path) === normal(request.url ?? ""),
    );
    if (found === undefined) return void socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    sockets.handleUpgrade(request, socket, head, (client) => {
      const left = [...(found.ws_frames ?? [])];
      const go = (): void => {
        while (left[0]?.dir === "server") {
          const frame = left.shift() as Frame;
          if (frame.op === "close") client.close(frame.code, frame.reason);
          else client.send(JSON.stringify(frame.json));
        }
        if (left.length === 0) client.close();
      };
      client.on("message", (data: Buffer) => {
        const message: unknown = JSON.parse(data.toString());
        heard.push(message);
        // the first message of both must not depend on who is quicker
        if (left[0]?.dir === "client") left.shift();
        go();
      });
      go();
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return { address: `http://127.0.0.1:${port()}`, heard, close: () => server.close() };
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly heard: readonly unknown[];
}

async function run(
  record: Recording,
  args: readonly string[],
  o: { stdin?: AsyncIterable<Uint8Array>; terminal?: UserTerminal; stop?: AbortSignal } = {},
): Promise<Ran> {
  const agent = await agentOf(record);
  const clock = new ManualClock();
  let stdout = "";
  let stderr = "";
  const context: CommandContext = {
    stdout: { write: (text) => void (stdout += Buffer.from(text as Uint8Array).toString()) },
    stderr: { write: (text) => void (stderr += Buffer.from(text as Uint8Array).toString()) },
    stdin: o.stdin ?? (async function* () {})(),
    env: { NOMAD_ADDR: agent.address },
    cwd: "/",
    clock,
    terminal: o.terminal,
    signal: o.stop ?? new AbortController().signal,
  };
  let settled = false;
  const running = runCommand(COMMANDS, context, args).finally(() => (settled = true));
  while (!settled) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(20);
  }
  agent.close();
  return { code: await running, stdout, stderr, heard: agent.heard };
}

/** Keys in the order of the recording; whoever plays the agent answers in its own time. */
async function* keysOf({ stdin }: Recording): AsyncGenerator<Uint8Array> {
  if (stdin === undefined) return;
  if (typeof stdin === "string") return void (yield Buffer.from(stdin));
  for (const [ms, text] of stdin) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(ms, 30)));
    if (text === null) return;
    yield Buffer.from(text);
  }
}

const screen: UserTerminal = {
  setRaw: () => undefined,
  size: () => ({ height: 24, width: 80 }),
  onResize: () => () => undefined,
};

describe("alloc exec against recorded sessions of a stock Nomad 2.0.5", () => {
  it.each(names)("%s: same exit code and output", async (name) => {
    const record = recording(name);
    const result = await run(record, words(record.command), { stdin: keysOf(record) });
    expect({ code: result.code, stdout: result.stdout }).toEqual({ code: record.exit_code, stdout: record.stdout });
    if (record.exit_code !== 1) expect(result.stderr).toBe(record.stderr);
    if (/failed to exec|Could not find/.test(record.stderr)) expect(result.stderr).toBe(record.stderr);
  });
});

describe("alloc exec", () => {
  const interactive = recording("alloc-exec-tty-interactive");

  it("tells the size of the terminal first, and again when it has changed", async () => {
    let changed: () => void = () => undefined;
    let height = 24;
    const raw: boolean[] = [];
    const terminal: UserTerminal = {
      setRaw: (on) => void raw.push(on),
      size: () => ({ height, width: 80 }),
      onResize: (listener) => {
        changed = listener;
        return () => void (changed = () => undefined);
      },
    };
    async function* keys(): AsyncGenerator<Uint8Array> {
      height = 50;
      changed();
      yield Buffer.from("exit 5\r");
    }
    const { code, heard } = await run(interactive, words(interactive.command), { terminal, stdin: keys() });
    expect(code).toBe(5);
    expect(heard.slice(0, 2)).toEqual([
      { tty_size: { height: 24, width: 80 } },
      { tty_size: { height: 50, width: 80 } },
    ]);
    // the terminal is given back
    expect(raw).toEqual([true, false]);
  });

  it("uses a terminal when there is one, and none when it is told so", async () => {
    const record = recording("alloc-exec-zero");
    const plain = words(record.command);
    const { code } = await run(record, [...plain.slice(0, 2), "-t=false", ...plain.slice(2)], { terminal: screen });
    expect(code).toBe(0);
    const tty = await run(record, plain, { terminal: screen });
    // the recording has no session with a terminal
    expect(tty.stderr).toContain("404");
  });

  it("leaves by the escape character", async () => {
    async function* keys(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("~.");
      await new Promise(() => undefined);
    }
    const { code, stderr } = await run(interactive, words(interactive.command), { terminal: screen, stdin: keys() });
    expect(code).toBe(1);
    expect(stderr).toContain("disconnected without receiving the exit code");
  });

  it("ends with 130 when it is interrupted", async () => {
    const stop = new AbortController();
    async function* keys(): AsyncGenerator<Uint8Array> {
      stop.abort(new Error("interrupted"));
      await new Promise(() => undefined);
      yield Buffer.alloc(0);
    }
    const record = recording("alloc-exec-idle");
    expect((await run(record, words(record.command), { stdin: keys(), stop: stop.signal })).code).toBe(130);
  });

  it.each([
    [["-i=false", "-t", "80995381", "sh"], "-i must be enabled"],
    [["-e", "xy", "80995381", "sh"], "single character"],
    [["80995381"], "command is required"],
    [[], "takes an allocation"],
  ])("refuses %j", async (args, text) => {
    const result = await run(interactive, ["alloc", "exec", ...args]);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain(text);
  });
});

describe("escape keys", () => {
  const typed = (keys: EscapeKeys, text: string): [string, boolean] => {
    const { data, leave } = keys.take(Buffer.from(text));
    return [Buffer.from(data).toString(), leave];
  };

  it.each([
    ["~.", "", true],
    ["a~.", "a~.", false],
    ["a\r~.", "a\r", true],
    ["~~.", "~.", false],
    ["~x", "~x", false],
  ])("%j becomes %j, leaving: %s", (text, data, leave) => {
    expect(typed(new EscapeKeys("~"), text)).toEqual([data, leave]);
  });

  it("may come one by one, be another, or not be at all", () => {
    const keys = new EscapeKeys("%");
    expect(typed(keys, "%")).toEqual(["", false]);
    expect(typed(keys, ".")).toEqual(["", true]);
    expect(typed(new EscapeKeys(""), "~.")).toEqual(["~.", false]);
  });
});

it("a terminal is one only with both of its ends", () => {
  const calls: unknown[] = [];
  const input = { isTTY: true as const, setRawMode: (raw: boolean) => void calls.push(raw) };
  const output = {
    isTTY: true as const,
    rows: 3,
    columns: 4,
    on: (...args: unknown[]) => calls.push(["on", args[0]]),
    off: (...args: unknown[]) => calls.push(["off", args[0]]),
  };
  expect(userTerminal({ ...input, isTTY: false } as never, output as never)).toBeUndefined();
  expect(userTerminal(input as never, { ...output, isTTY: false } as never)).toBeUndefined();
  const terminal = userTerminal(input as never, output as never) as UserTerminal;
  expect(terminal.size()).toEqual({ height: 3, width: 4 });
  terminal.setRaw(true);
  terminal.onResize(() => undefined)();
  expect(calls).toEqual([true, ["on", "resize"], ["off", "resize"]]);
});
