import { EventEmitter } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import type { WriteStream } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connectPlugin } from "../src/host/index.ts";
import { parseHandshake } from "../src/host/handshake.ts";
import { serve } from "../src/serve/index.ts";
import { type HostStdio, takeStdio } from "../src/serve/private-stdio.ts";
import { type PluginProcess, type ServeOptions, socketPath } from "../src/serve/serve.ts";
import { MemoryDriver } from "./support/memory-driver.ts";

const COOKIE = "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255";
const realConsole = { ...console };
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ops-"));
});
afterEach(() => {
  Object.assign(console, realConsole);
  rmSync(folder, { recursive: true, force: true });
});

class FakeProcess extends EventEmitter {
  readonly pid = 4711;
  readonly env: Record<string, string | undefined>;
  readonly exited: Promise<number>;
  exit: (code: number) => void = () => undefined;
  constructor(env: Record<string, string>) {
    super();
    this.env = { ...env };
    this.exited = new Promise((resolve) => (this.exit = resolve));
  }
}

function plugin(env: Record<string, string> = {}, o: Partial<ServeOptions> = {}, driver = new MemoryDriver()) {
  const host = new FakeProcess({
    NOMAD_PLUGIN_MAGIC_COOKIE: COOKIE,
    PLUGIN_PROTOCOL_VERSIONS: "2",
    HOME: "/h",
    ...env,
  });
  const lines: Record<string, string>[] = [];
  let announce: (line: string) => void = () => undefined;
  const handshake = new Promise<string>((resolve) => (announce = resolve));
  const stdio: HostStdio = {
    handshake: announce,
    log: (line) => void lines.push(JSON.parse(line) as Record<string, string>),
    flush: () => Promise.resolve(),
  };
  void serve(driver, { process: host as unknown as PluginProcess, stdio: () => stdio, tempDir: folder, ...o });
  return { host, lines, handshake };
}

describe("a plugin executable", () => {
  it("tells a human what it is and exits with 1", async () => {
    const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const host = new FakeProcess({});
    void serve(new MemoryDriver(), {
      process: host as unknown as PluginProcess,
      stdio: () => {
        throw new Error("must not touch the pipes");
      },
      onUsage: (text) => void process.stderr.write(text),
    });
    expect(await host.exited).toBe(1);
    expect(written.mock.calls[0]?.[0]).toBe(
      "This program is a Nomad task driver plugin. It is started by an agent and not meant to be run by hand.\n" +
        "Put it into the agent's plugin_dir and name its file in a `plugin` block of the agent's configuration.\n",
    );
    written.mockRestore();
  });

  it("serves before it announces, cleans its environment, and ends when the host asks", async () => {
    const { host, handshake, lines } = plugin(
      { PLUGIN_CLIENT: "kept" },
      { module: "hello", onLogger: (l) => l.info("up") },
    );
    const line = await handshake;
    expect(line).toMatch(/^1\|2\|unix\|.*\|grpc\|\n$/);
    expect(host.env).toEqual({ HOME: "/h", PLUGIN_CLIENT: "kept" });
    const { address } = parseHandshake(line);
    const client = await connectPlugin({ socketPath: address });
    expect((await client.info()).name).toBe("memory");
    host.emit("SIGINT");
    host.emit("SIGHUP");
    console.log("hello %s", "you", { a: 1 });
    console.error(Object.assign(Object.create(null) as object, { big: 1n }));
    await client.stop();
    expect(await host.exited).toBe(0);
    expect(existsSync(address)).toBe(false);
    expect(lines.map((l) => `${l["@module"]} ${l["@level"]} ${l["@message"]}`)).toEqual([
      "hello info up",
      "hello info hello you { a: 1 }",
      expect.stringContaining("hello error") as string,
    ]);
  });

  it("turns every word of the console into a log line of its level, as the module driver", async () => {
    const { host, handshake, lines } = plugin({}, { logLevel: "trace" });
    await handshake;
    for (const name of ["log", "info", "debug", "warn", "error", "trace"] as const) console[name](`by %s`, name);
    host.emit("SIGTERM");
    await host.exited;
    expect(lines.map((l) => `${l["@module"]} ${l["@level"]} ${l["@message"]}`)).toEqual([
      "driver info by log",
      "driver info by info",
      "driver debug by debug",
      "driver warn by warn",
      "driver error by error",
      "driver debug by trace",
    ]);
  });

  it("heeds the signals of a terminal without ending", async () => {
    const { host, handshake } = plugin();
    await handshake;
    expect([host.listenerCount("SIGINT"), host.listenerCount("SIGHUP"), host.listenerCount("SIGTERM")]).toEqual([
      1, 1, 1,
    ]);
    let ended = false;
    void host.exited.then(() => (ended = true));
    host.emit("SIGINT");
    host.emit("SIGHUP");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ended).toBe(false);
    host.emit("SIGTERM");
    expect(await host.exited).toBe(0);
  });

  it.each([undefined, "2", "1,2", "2,3"])("does not mind a host that offers the versions %s", async (versions) => {
    const { host, lines, handshake } = plugin();
    if (versions === undefined) delete host.env["PLUGIN_PROTOCOL_VERSIONS"];
    else host.env["PLUGIN_PROTOCOL_VERSIONS"] = versions;
    await handshake;
    host.emit("SIGTERM");
    await host.exited;
    expect(lines.filter((l) => l["@level"] === "warn")).toEqual([]);
  });

  it("tells a failure outside of a call with its stack, where it has one", async () => {
    for (const [reason, wanted] of [
      [new Error("bug"), { err: "bug", stack: expect.stringContaining("serve.test") as string }],
      ["only words", { err: "only words" }],
    ] as const) {
      const { host, handshake, lines } = plugin();
      await handshake;
      host.emit("unhandledRejection", reason);
      expect(await host.exited).toBe(1);
      const { err, stack } = lines.at(-1) ?? {};
      expect(lines.at(-1)).toMatchObject({ "@level": "error", "@message": "driver failed outside of a call" });
      expect({ err, ...(stack === undefined ? {} : { stack }) }).toEqual(wanted);
    }
  });

  it("ends on SIGTERM without touching tasks", async () => {
    const driver = new MemoryDriver();
    const { host, handshake } = plugin({}, {}, driver);
    await handshake;
    host.emit("SIGTERM");
    host.emit("SIGTERM");
    expect(await host.exited).toBe(0);
    expect(driver.calls).toEqual([]);
  });

  it.each(["uncaughtException", "unhandledRejection"])("logs an %s and exits with 1", async (event) => {
    const { host, handshake, lines } = plugin();
    await handshake;
    host.emit(event, new Error("bug"));
    expect(await host.exited).toBe(1);
    expect(lines.at(-1)).toMatchObject({ "@level": "error", err: "bug" });
  });

  it("says so when the host speaks other versions or wants what is not offered", async () => {
    const other = plugin({ PLUGIN_PROTOCOL_VERSIONS: "1,3", PLUGIN_MULTIPLEX_GRPC: "true" }, { logLevel: "info" });
    expect(await other.handshake).toMatch(/\|grpc\|\|false\n$/);
    expect(other.lines.at(-1)).toMatchObject({ "@level": "warn", versions: "1,3" });
    other.host.emit("SIGTERM");
    await other.host.exited;
    const tls = plugin({ PLUGIN_CLIENT_CERT: "pem" });
    expect(await tls.host.exited).toBe(1);
    expect(tls.lines.at(-1)?.["err"]).toBe("the host sent a certificate that cannot be read");
  });

  it("puts its socket where the host says, and elsewhere when that path is too long", async () => {
    const here = plugin({ PLUGIN_UNIX_SOCKET_DIR: folder }, { tempDir: tmpdir() });
    expect(parseHandshake(await here.handshake).address.startsWith(`${folder}/plugin4711`)).toBe(true);
    here.host.emit("SIGTERM");
    await here.host.exited;
    const far = plugin({}, { tempDir: `/${"x".repeat(120)}` });
    expect(parseHandshake(await far.handshake).address.length).toBeLessThan(108);
    far.host.emit("SIGTERM");
    await far.host.exited;
  });
});

describe("a path for the socket", () => {
  it("is made short by a folder of its own when every usual place is too long", () => {
    const long = `/${"x".repeat(120)}`;
    const { path, folder: made } = socketPath([long], 1);
    expect(path.length).toBeLessThan(108);
    expect(path.startsWith(made as string)).toBe(true);
    rmSync(made as string, { recursive: true });
    expect(socketPath([undefined, "", folder], 7).path.startsWith(`${folder}/plugin7`)).toBe(true);
    // `plugin`, the pid, eight random digits: 107 bytes fit, 108 do not.
    const name = "/plugin7".length + 8;
    const fits = `/${"f".repeat(107 - name - 1)}`;
    expect(socketPath([fits], 7).path).toMatch(/^\/f+\/plugin7[0-9a-f]{8}$/);
    expect(socketPath([`${fits}f`, folder], 7).path.startsWith(`${folder}/plugin7`)).toBe(true);
    expect(socketPath([folder], 7).path).not.toBe(socketPath([folder], 7).path);
    expect(socketPath([folder], 7).folder).toBeUndefined();
  });
});

describe("the pipes to the host", () => {
  function calls(o: { copies?: boolean } = {}) {
    const made: string[] = [];
    const stream = new (class extends Writable {
      readonly chunks: string[] = [];
      override _write(chunk: Buffer, _encoding: string, done: () => void): void {
        this.chunks.push(chunk.toString());
        if (this.chunks.length < 3) done();
      }
    })();
    let next = 10;
    return {
      made,
      stream,
      calls: {
        open: (path: string) => {
          made.push(`open ${path}`);
          if (path.startsWith("/proc") && o.copies === false) throw new Error("ENXIO");
          return next++;
        },
        close: (fd: number) => void made.push(`close ${fd}`),
        write: (fd: number, text: string) => {
          made.push(`write ${fd} ${text}`);
          if (text === "broken") throw new Error("EPIPE");
        },
        stream: (fd: number) => {
          made.push(`stream ${fd}`);
          return stream as unknown as WriteStream;
        },
        setTimeout: (fn: () => void) => setTimeout(fn, 1),
      },
    };
  }

  it("are private copies, and tasks inherit /dev/null", async () => {
    const fake = calls();
    const stdio = takeStdio(fake.calls);
    stdio.handshake("line");
    stdio.handshake("broken");
    expect(fake.made).toEqual([
      "close 0",
      "open /dev/null",
      "open /proc/self/fd/1",
      "close 1",
      "open /dev/null",
      "open /proc/self/fd/2",
      "close 2",
      "open /dev/null",
      "stream 13",
      "write 11 line",
      "write 11 broken",
    ]);
    await stdio.flush(1);
    stdio.log("a");
    stdio.log("b");
    stdio.log("stuck");
    stdio.log("x".repeat(1024 * 1024));
    stdio.log("dropped");
    expect(fake.stream.chunks).toEqual(["a", "b", "stuck"]);
    await stdio.flush(1);
    fake.stream.emit("error", new Error("EPIPE"));
    stdio.log("after the death of the host");
    await stdio.flush(1);
  });

  it("take no more once the host is gone or does not read", async () => {
    const dead = calls();
    const stdio = takeStdio(dead.calls);
    dead.stream.emit("error", new Error("EPIPE"));
    stdio.log("nobody reads this");
    expect([dead.stream.chunks, dead.stream.writableLength]).toEqual([[], 0]);
    const deaf = calls();
    const pipes = takeStdio(deaf.calls);
    // The third write never ends.
    for (const line of ["a", "b", "stuck"]) pipes.log(line);
    pipes.log("x".repeat(1024 * 1024 - 5));
    expect(deaf.stream.writableLength).toBe(1024 * 1024);
    pipes.log("y");
    pipes.log("dropped");
    expect(deaf.stream.writableLength).toBe(1024 * 1024 + 1);
  });

  it("are emptied before the end, for as long as they are given", async () => {
    const limits: number[] = [];
    let giveUp: () => void = () => undefined;
    const setTimer = (fn: () => void, ms: number): void => {
      limits.push(ms);
      giveUp = fn;
    };
    const quick = calls();
    const stdio = takeStdio({ ...quick.calls, setTimeout: setTimer });
    await stdio.flush(200);
    expect(limits).toEqual([]);
    const held: (() => void)[] = [];
    quick.stream._write = (_chunk, _encoding, done) => void held.push(done);
    stdio.log("last words");
    let flushed = false;
    const flush = stdio.flush(200).then(() => (flushed = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect([limits, flushed]).toEqual([[200], false]);
    held[0]?.();
    await flush;
    const deaf = calls();
    const pipes = takeStdio({ ...deaf.calls, setTimeout: setTimer });
    deaf.stream._write = () => undefined;
    pipes.log("never read");
    const given = pipes.flush(300);
    giveUp();
    await given;
    expect(limits).toEqual([200, 300]);
  });

  it("stay where they are when the system cannot copy them", () => {
    const fake = calls({ copies: false });
    takeStdio(fake.calls).handshake("line");
    expect(fake.made.slice(-2)).toEqual(["stream 2", "write 1 line"]);
  });
});
