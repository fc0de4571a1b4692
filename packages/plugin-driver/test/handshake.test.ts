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
    await expect(line).rejects.toMatchObject({ kind: "timeout", recoverable: true });
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
