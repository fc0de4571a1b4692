import { PassThrough } from "node:stream";
import { ManualClock } from "@outrider/backoff/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PluginStartError } from "../src/index.ts";
import { readFirstLine } from "../src/host/first-line.ts";
import { parseHandshake } from "../src/host/handshake.ts";
import type { PluginExit } from "../src/host/hosted-driver.ts";

const kindOf = (run: () => unknown): string => {
  try {
    run();
  } catch (reason) {
    if (reason instanceof PluginStartError) return reason.kind;
    throw reason;
  }
  return "none";
};

describe("a handshake line", () => {
  it("is read with five, six and seven fields", () => {
    expect(parseHandshake("1|2|unix|/tmp/p|grpc|\r\n")).toEqual({
      network: "unix",
      address: "/tmp/p",
      protocolVersion: 2,
      serverCert: "",
    });
    expect(parseHandshake("1|2|tcp|127.0.0.1:10000|grpc")).toMatchObject({
      network: "tcp",
      address: "127.0.0.1:10000",
    });
    expect(parseHandshake("1|2|tcp|[::1]:10000|grpc||true").address).toBe("[::1]:10000");
    expect(parseHandshake(`1|2|unix|/p|grpc|${"A".repeat(60)}`).serverCert).toHaveLength(60);
  });

  it.each([
    ["hello", "handshake"],
    ["", "handshake"],
    ["x|2|unix|/p|grpc", "handshake"],
    ["9|2|unix|/p|grpc", "core-version"],
    ["1|x|unix|/p|grpc", "handshake"],
    ["1|1|unix|/p|grpc", "api-version"],
    ["1|2|pipe|/p|grpc", "network"],
    ["1|2|unix||grpc", "handshake"],
    ["1|2|tcp|nowhere|grpc", "handshake"],
    ["1|2|unix|/p|netrpc", "protocol"],
    ["1|2|unix|/p", "protocol"],
  ])("%j is refused as %s", (line, kind) => {
    expect(kindOf(() => parseHandshake(line))).toBe(kind);
  });

  it.each([
    ["hello", 'plugin\'s first line is no handshake: "hello"'],
    ["1|2|unix", 'plugin\'s first line is no handshake: "1|2|unix"'],
    ["x|2|unix|/p|grpc", 'handshake: core protocol version "x" is no number'],
    ["1x|2|unix|/p|grpc", 'handshake: core protocol version "1x" is no number'],
    ["0000000001|2|unix|/p|grpc", 'handshake: core protocol version "0000000001" is no number'],
    ["9|2|unix|/p|grpc", "handshake: plugin speaks core protocol 9, this host 1"],
    ["1|v2|unix|/p|grpc", 'handshake: protocol version "v2" is no number'],
    ["1|2x|unix|/p|grpc", 'handshake: protocol version "2x" is no number'],
    ["1|1|unix|/p|grpc", "handshake: plugin speaks protocol 1, this host 2"],
    ["1|2|pipe|/p|grpc", 'handshake: unknown network "pipe"'],
    ["1|2|unix||grpc", 'handshake: "" is no unix address'],
    ["1|2|tcp|nowhere|grpc", 'handshake: "nowhere" is no tcp address'],
    ["1|2|tcp|a:b|grpc", 'handshake: "a:b" is no tcp address'],
    ["1|2|tcp|a:123456|grpc", 'handshake: "a:123456" is no tcp address'],
    ["1|2|tcp|::1:80|grpc", 'handshake: "::1:80" is no tcp address'],
    ["1|2|tcp|[::1]|grpc", 'handshake: "[::1]" is no tcp address'],
    ["1|2|tcp|x[::1]:80|grpc", 'handshake: "x[::1]:80" is no tcp address'],
    ["1|2|tcp|[::1]:80x|grpc", 'handshake: "[::1]:80x" is no tcp address'],
    ["1|2|tcp|:80|grpc", 'handshake: ":80" is no tcp address'],
    ["1|2|unix|/p|netrpc", 'handshake: plugin speaks "netrpc", this host grpc'],
    ["1|2|unix|/p", 'handshake: plugin speaks "netrpc", this host grpc'],
  ])("%j is refused in words that name the fault", (line, message) => {
    expect(() => parseHandshake(line)).toThrow(message);
    try {
      parseHandshake(line);
    } catch (reason) {
      expect((reason as PluginStartError).details).toMatchObject({ line });
    }
  });

  it("is shown in part when it is long, and holds a certificate only where one could be", () => {
    expect(() => parseHandshake("x".repeat(300))).toThrow(`handshake: ${JSON.stringify("x".repeat(200))}`);
    const cert = (chars: number): string => parseHandshake(`1|2|unix|/p|grpc|${"A".repeat(chars)}`).serverCert;
    expect([cert(0), cert(50), cert(51)]).toEqual(["", "", "A".repeat(51)]);
    expect(parseHandshake("  1|2|tcp|host.example:65535|grpc\n").address).toBe("host.example:65535");
    expect(parseHandshake("01|02|unix|relative/p|grpc")).toMatchObject({ protocolVersion: 2, address: "relative/p" });
  });

  it("of any bytes is a handshake or an error with a code", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(fc.string()).map((parts) => parts.join("|")),
        ),
        (line) => {
          kindOf(() => parseHandshake(line));
        },
      ),
    );
  });
});

function reading(o: { signal?: AbortSignal } = {}): {
  stdout: PassThrough;
  clock: ManualClock;
  exit: (how: PluginExit) => void;
  line: Promise<string>;
} {
  const stdout = new PassThrough();
  const clock = new ManualClock();
  let exit: (how: PluginExit) => void = () => undefined;
  const exited = new Promise<PluginExit>((resolve) => (exit = resolve));
  const line = readFirstLine({ stdout, exited, timeoutMs: 60_000, clock, ...o });
  line.catch(() => undefined);
  return { stdout, clock, exit, line };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the first line of stdout", () => {
  it("may come in pieces, and everything after it is drained", async () => {
    const { stdout, line } = reading();
    stdout.write("1|2|un");
    await turn();
    stdout.write("ix|/p|grpc|\nnoise");
    expect(await line).toBe("1|2|unix|/p|grpc|");
    for (let i = 0; i < 100; i++) stdout.write("x".repeat(10_000));
    await turn();
    expect(stdout.readableLength).toBe(0);
  });

  it("is waited for 60 s only", async () => {
    const { clock, line } = reading();
    await clock.advance(60_000);
    await expect(line).rejects.toMatchObject({
      kind: "timeout",
      recoverable: true,
      message: "plugin gave no handshake within 60000 ms",
    });
  });

  it("is still taken in the last of these 60 s, and leaves nothing behind", async () => {
    const { clock, stdout, line } = reading();
    await clock.advance(59_999);
    stdout.write("late\n");
    expect(await line).toBe("late");
    expect(clock.pending).toEqual([]);
    expect([stdout.listenerCount("data"), stdout.listenerCount("end"), stdout.readableFlowing]).toEqual([0, 0, true]);
  });

  it("may be empty, which is no handshake but an answer", async () => {
    const { stdout, line } = reading();
    stdout.write("\n1|2|unix|/p|grpc|\n");
    expect(await line).toBe("");
  });

  it("may have 16 KiB and not a byte more", async () => {
    const { stdout, line } = reading();
    stdout.write(`${"x".repeat(16 * 1024)}\n`);
    expect(await line).toHaveLength(16 * 1024);
    const open = reading();
    open.stdout.write("y".repeat(16 * 1024));
    await turn();
    open.stdout.write("\n");
    expect(await open.line).toHaveLength(16 * 1024);
    for (const text of [`${"x".repeat(16 * 1024 + 1)}\n`, "x".repeat(16 * 1024 + 1)]) {
      const long = reading();
      long.stdout.write(text);
      const shown = JSON.stringify("x".repeat(200));
      await expect(long.line).rejects.toThrow(`plugin's first line is longer than 16384 bytes: ${shown}`);
      expect(long.clock.pending).toEqual([]);
    }
  });

  it("may come within 100 ms of the exit, and an exit by a signal is told by its name", async () => {
    const { stdout, clock, exit, line } = reading();
    exit({ code: null, signal: "SIGSEGV" });
    await turn();
    await clock.advance(99);
    stdout.write("line\n");
    expect(await line).toBe("line");
    expect(clock.pending).toEqual([]);
    const other = reading();
    other.exit({ code: null, signal: "SIGSEGV" });
    await turn();
    await other.clock.advance(100);
    await expect(other.line).rejects.toMatchObject({
      message: 'plugin exited with SIGSEGV before its handshake; it wrote ""',
      details: { output: '""' },
    });
  });

  it("that ended with its pipe is not waited for longer than the exit", async () => {
    const { stdout, clock, exit, line } = reading();
    stdout.end();
    await turn();
    await turn();
    await clock.advance(50);
    exit({ code: 7, signal: null });
    await turn();
    await clock.advance(1);
    await expect(line).rejects.toThrow("exited with code 7 before its handshake");
    expect(clock.pending).toEqual([]);
  });

  it.each([
    ["x".repeat(20_000), "handshake"],
    [`${"x".repeat(20_000)}\n`, "handshake"],
  ])("is refused when it is too long", async (text, kind) => {
    const { stdout, line } = reading();
    stdout.write(text);
    await expect(line).rejects.toMatchObject({ kind });
  });

  it("is an error when the process exits, told with what it wrote, even if a child keeps the pipe", async () => {
    const { stdout, clock, exit, line } = reading();
    stdout.write("boom");
    exit({ code: 3, signal: null });
    await turn();
    await clock.advance(200);
    await expect(line).rejects.toMatchObject({
      kind: "exited",
      message: expect.stringContaining('exited with code 3 before its handshake; it wrote "boom"') as string,
    });
  });

  it("is an error when stdout ends", async () => {
    const { stdout, clock, exit, line } = reading();
    stdout.end();
    await turn();
    await turn();
    await clock.advance(200);
    await expect(line).rejects.toMatchObject({ message: expect.stringContaining("closed its stdout") as string });
    exit({ code: null, signal: "SIGKILL" });
  });

  it("counts when it arrives with the exit", async () => {
    const { stdout, exit, line } = reading();
    exit({ code: 0, signal: null });
    stdout.write("line\n");
    expect(await line).toBe("line");
  });

  it("is no longer waited for when the caller gives up", async () => {
    const stop = new AbortController();
    const { line } = reading({ signal: stop.signal });
    stop.abort(new Error("given up"));
    await expect(line).rejects.toThrow("given up");
  });
});
