import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock } from "@outrider/backoff/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectPlugin } from "../src/host/connect-plugin.ts";
import type { HostedDriver } from "../src/host/hosted-driver.ts";
import { launchPlugin, type LaunchPluginOptions } from "../src/host/launch-plugin.ts";
import { processIdentity } from "../src/process/process-identity.ts";
import { createDriverServer, type DriverServer } from "../src/serve/index.ts";
import { connected } from "./support/pair.ts";
import { FakeChild } from "./support/fake-child.ts";
import { MemoryDriver } from "./support/memory-driver.ts";

let folder: string;
let socketPath: string;
let server: DriverServer | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "opl-"));
  socketPath = join(folder, "s");
  server = undefined;
});
afterEach(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Spawned {
  command: string;
  args: readonly string[];
  options: { env: Record<string, string>; cwd?: string };
}

function launch(
  child: FakeChild,
  o: Partial<LaunchPluginOptions> = {},
): { driver: Promise<HostedDriver>; spawned: Spawned[] } {
  const spawned: Spawned[] = [];
  const driver = launchPlugin({
    command: "/plugins/hello",
    spawn: (command, args, options) => {
      spawned.push({ command, args, options });
      return child.asChild();
    },
    ...o,
  });
  driver.catch(() => undefined);
  return { driver, spawned };
}

async function serving(child: FakeChild, driver = new MemoryDriver(), onShutdown?: () => void): Promise<void> {
  server = await createDriverServer(driver, { socketPath, onShutdown: onShutdown ?? (() => child.exit(0)) });
  child.stdout.write(`1|2|unix|${socketPath}|grpc|\n`);
}

describe("launching a plugin", () => {
  it("gives it the protocol's variables and nothing of ours, and speaks to it", async () => {
    const child = new FakeChild();
    const { driver, spawned } = launch(child, { args: ["-x"], env: { A: "1" }, cwd: "/w", expect: { name: "memory" } });
    await serving(child);
    const plugin = await driver;
    expect(spawned).toEqual([
      {
        command: "/plugins/hello",
        args: ["-x"],
        options: {
          cwd: "/w",
          env: {
            A: "1",
            PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            NOMAD_PLUGIN_MAGIC_COOKIE: "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
            PLUGIN_MIN_PORT: "10000",
            PLUGIN_MAX_PORT: "25000",
            PLUGIN_PROTOCOL_VERSIONS: "2",
          },
        },
      },
    ]);
    expect(plugin.reattach).toEqual({ protocol: "grpc", network: "unix", address: socketPath });
    expect(plugin.pid).toBeUndefined();
    await plugin.stop();
    await plugin.stop();
    expect(await plugin.exited).toEqual({ code: 0, signal: null });
    expect(child.signals).toEqual([]);
    expect(child.unrefs).toBe(1);
    expect(plugin.isGone).toBe(true);
  });

  it("kills one that answers the shutdown and stays", async () => {
    const child = new FakeChild();
    const { driver } = launch(child, { timeouts: { exitMs: 30 } });
    await serving(child, new MemoryDriver(), () => undefined);
    await using plugin = await driver;
    await plugin.stop();
    expect(child.signals).toEqual(["SIGKILL"]);
    expect(await plugin.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("does not wait for one that cannot even be killed", async () => {
    const child = new FakeChild();
    child.onKill = () => undefined;
    const { driver } = launch(child, { timeouts: { exitMs: 20 } });
    await serving(child, new MemoryDriver(), () => undefined);
    await (await driver).stop();
    expect(child.signals).toEqual(["SIGKILL"]);
  });

  it("ends every call when the process exits, although its pipes stay open", async () => {
    const child = new FakeChild();
    const { driver } = launch(child);
    await serving(child);
    const plugin = await driver;
    const wait = expect(plugin.capabilities().then(() => plugin.waitTask("x"))).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND",
    });
    await wait;
    child.exit(null, "SIGKILL");
    await plugin.gone;
    await expect(plugin.info()).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    plugin.detach();
  });

  it.each<[string, string, string]>([
    ["garbage", "hello\n", "handshake"],
    ["TLS that nobody asked for", `1|2|unix|/p|grpc|${"A".repeat(80)}\n`, "certificate"],
    ["an address where nothing listens", "1|2|unix|/tmp/nothing-here|grpc|\n", "connect"],
    ["a TCP address where nothing listens", "1|2|tcp|127.0.0.1:1|grpc\n", "connect"],
  ])("kills the child that announces %s", async (_what, line, kind) => {
    const child = new FakeChild();
    const { driver } = launch(child);
    child.stdout.write(line);
    await expect(driver).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_START", kind });
    expect(child.signals).toEqual(["SIGKILL"]);
  });

  it.each<[string, Partial<LaunchPluginOptions>, (driver: MemoryDriver) => void, string]>([
    ["has another name", { expect: { name: "docker" } }, () => undefined, "identity"],
    ["has another version", { expect: { version: "9.9.9" } }, () => undefined, "identity"],
    ["is refused by the caller", { verify: () => Promise.resolve(false) }, () => undefined, "identity"],
    [
      "is no driver",
      {},
      (d) =>
        (d.info = () => Promise.resolve({ name: "gpu", type: "device", version: "1.0.0", apiVersions: ["v0.1.0"] })),
      "identity",
    ],
    [
      "speaks another driver API",
      {},
      (d) => (d.info = () => Promise.resolve({ name: "memory", type: "driver", version: "1.0.0", apiVersions: [] })),
      "api-version",
    ],
  ])("kills a plugin that %s", async (_what, o, change, kind) => {
    const child = new FakeChild();
    const memory = new MemoryDriver();
    change(memory);
    const { driver } = launch(child, o);
    await serving(child, memory);
    await expect(driver).rejects.toMatchObject({ kind });
    expect(child.signals).toEqual(["SIGKILL"]);
  });

  it("tells in words what it could not start or trust", async () => {
    await expect(launch(new FakeChild("error")).driver).rejects.toThrow(
      "plugin /plugins/hello cannot be started: spawn ENOENT",
    );
    const mute = new FakeChild();
    Object.assign(mute, { stdout: null });
    await expect(launch(mute).driver).rejects.toThrow("plugin was spawned without a stdout pipe");
    expect(mute.signals).toEqual(["SIGKILL"]);
    const tls = new FakeChild();
    tls.stdout.write(`1|2|unix|/p|grpc|${"A".repeat(80)}\n`);
    await expect(launch(tls).driver).rejects.toThrow("plugin asks for TLS, which this host did not offer");
    const nobody = new FakeChild();
    nobody.stdout.write("1|2|unix|/tmp/nothing-here|grpc|\n");
    await expect(launch(nobody).driver).rejects.toThrow("nothing listens at the plugin's address");
    expect(nobody.unrefs).toBe(1);
    expect([nobody.stdout.destroyed, nobody.stderr.destroyed]).toEqual([true, true]);
  });

  it("waits for its handshake as long as it is told, by the clock", async () => {
    const clock = new ManualClock();
    const child = new FakeChild();
    const { driver } = launch(child, { clock, startTimeoutMs: 500 });
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(499);
    expect(child.signals).toEqual([]);
    await clock.advance(1);
    await expect(driver).rejects.toMatchObject({ kind: "timeout", message: "plugin gave no handshake within 500 ms" });
    expect(child.signals).toEqual(["SIGKILL"]);
  });

  it("is given up at any moment when the caller goes away", async () => {
    const child = new FakeChild();
    const stop = new AbortController();
    const { driver } = launch(child, { signal: stop.signal });
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error("given up"));
    await expect(driver).rejects.toThrow("given up");
    expect(child.signals).toEqual(["SIGKILL"]);
  });

  it("names the plugin in its log by its file, and says when it must kill it", async () => {
    const child = new FakeChild();
    const told: unknown[] = [];
    const log = (...parts: unknown[]): void => void told.push(parts);
    const bindings: object[] = [];
    const logger = {
      trace: log,
      debug: log,
      info: log,
      warn: log,
      error: log,
      child: (more: object) => {
        bindings.push(more);
        return logger;
      },
    };
    const { driver } = launch(child, { logger, timeouts: { exitMs: 30 } });
    await serving(child, new MemoryDriver(), () => undefined);
    await (await driver).stop();
    expect(bindings).toEqual([{ plugin: "hello" }]);
    expect(told).toContainEqual([{ pid: undefined }, "plugin did not exit after the shutdown call, killing it"]);
    expect(told).toContainEqual([{ handshakeMs: expect.any(Number) as number, pid: 2 ** 30 }, "plugin handshake"]);
  });

  it("tells what cannot be spawned, and starts nothing for a caller that gave up", async () => {
    await expect(launch(new FakeChild("error")).driver).rejects.toMatchObject({ kind: "spawn" });
    const without = new FakeChild();
    Object.assign(without, { stdout: null, stderr: null, pid: undefined });
    await expect(launch(without).driver).rejects.toMatchObject({ kind: "spawn" });
    const signal = AbortSignal.abort(new Error("given up"));
    const { driver, spawned } = launch(new FakeChild(), { signal });
    await expect(driver).rejects.toThrow("given up");
    expect(spawned).toEqual([]);
  });

  it("notices a real program that is no plugin", async () => {
    await expect(launchPlugin({ command: "/bin/true", cwd: "/" })).rejects.toMatchObject({ kind: "exited" });
    await expect(launchPlugin({ command: "/no/such/plugin" })).rejects.toMatchObject({ kind: "spawn" });
    const args = ["-c", "sleep 60 & echo hello; sleep 60"];
    await expect(launchPlugin({ command: "/bin/sh", args })).rejects.toMatchObject({ kind: "handshake" });
  });

  it("has a session of its own, so that no terminal of ours reaches it", async () => {
    const args = [
      "-c",
      'read -r pid name state parent group session rest </proc/$$/stat; echo "$$ $group $session"; exec sleep 60',
    ];
    const reason: unknown = await launchPlugin({ command: "/bin/sh", args }).catch((error: unknown) => error);
    expect((reason as Error).message).toMatch(/is no handshake: "(\d+) \1 \1"$/);
  });

  it("leaves a record by which a later host knows its process", async () => {
    const real = spawn("/bin/sleep", ["60"], { stdio: "ignore" });
    const child = new FakeChild();
    child.pid = real.pid;
    const { driver } = launch(child);
    await serving(child);
    const plugin = await driver;
    const process = processIdentity(real.pid as number);
    expect(process?.pid).toBe(real.pid);
    expect(plugin.reattach).toStrictEqual({ protocol: "grpc", network: "unix", address: socketPath, process });
    expect(plugin.pid).toBe(real.pid);
    await plugin.stop();
    real.kill("SIGKILL");
  });

  it("relays its stderr and ignores broken pipes", async () => {
    const child = new FakeChild();
    const lines: string[] = [];
    const log = (_fields: object | string, message?: string): void => void lines.push(message ?? "");
    const logger = { trace: log, debug: log, info: log, warn: log, error: log, child: () => logger };
    const { driver } = launch(child, { logger });
    child.stderr.write('{"@level":"info","@message":"up"}\nrest');
    child.stderr.end();
    await serving(child);
    const plugin = await driver;
    expect(lines).toEqual(expect.arrayContaining(["up", "rest", "plugin handshake", "plugin attached"]));
    child.stderr.emit("error", new Error("EPIPE"));
    child.stdout.emit("error", new Error("EPIPE"));
    await plugin.stop();
  });
});

describe("attaching to a running plugin", () => {
  it("needs exactly one address, a short path and a living process", async () => {
    await expect(connectPlugin({})).rejects.toMatchObject({ kind: "connect" });
    await expect(connectPlugin({ socketPath: `/${"x".repeat(150)}` })).rejects.toMatchObject({ kind: "socket-path" });
    const process = { pid: 2 ** 30, startTime: "1", bootId: "b" };
    const reattach = { protocol: "grpc", network: "unix", address: socketPath, process } as const;
    await expect(connectPlugin({ reattach })).rejects.toMatchObject({ kind: "connect" });
  });

  it("refuses a stranger at the old address and leaves it alone", async () => {
    server = await createDriverServer(new MemoryDriver(), { socketPath });
    const reattach = { protocol: "grpc", network: "unix", address: socketPath } as const;
    await expect(connectPlugin({ reattach, expect: { name: "docker" } })).rejects.toMatchObject({ kind: "identity" });
    await using plugin = await connectPlugin({ reattach, verify: ({ name }) => name === "memory" });
    expect(plugin.exited).toBeUndefined();
  });

  it("reaches a driver at a listener of the caller, which stays the caller's", async () => {
    const listener = createServer();
    server = await createDriverServer(new MemoryDriver(), { listener });
    expect(server.socketPath).toBeUndefined();
    await new Promise<void>((resolve) => listener.listen(socketPath, resolve));
    const plugin = await connectPlugin({ socketPath });
    expect((await plugin.info()).name).toBe("memory");
    await server[Symbol.asyncDispose]();
    await plugin.gone;
    expect(listener.listening).toBe(true);
    listener.close();
  });

  it("asks a plugin to end, without killing what it did not start", async () => {
    const pair = await connected(new MemoryDriver());
    await pair.client.stop();
    expect(pair.client.isGone).toBe(true);
    const deaf = await connected(new MemoryDriver(), { onShutdown: () => undefined }, { timeouts: { exitMs: 20 } });
    await deaf.client.stop();
    expect(deaf.client.isGone).toBe(true);
    await deaf[Symbol.asyncDispose]();
    await pair[Symbol.asyncDispose]();
  });

  it("gives up on a listener that speaks no HTTP/2", async () => {
    const mute = createServer();
    await new Promise<void>((resolve) => mute.listen(socketPath, resolve));
    const timeouts = { connectMs: 50, shortMs: 50 };
    await expect(connectPlugin({ socketPath, timeouts })).rejects.toMatchObject({
      code: expect.stringMatching(/PLUGIN_(START|TIMEOUT)$/) as string,
    });
    mute.close();
  });

  it("times calls out by the clock, and abandons them when asked", async () => {
    const clock = new ManualClock();
    const driver = new MemoryDriver();
    await using pair = await connected(driver, {}, { clock });
    driver.capabilities = () => new Promise(() => undefined);
    const late = expect(pair.client.capabilities()).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_TIMEOUT",
      details: { what: "Capabilities", timeoutMs: 30_000 },
    });
    await clock.advance(30_000);
    await late;
    const stop = new AbortController();
    const left = expect(pair.client.capabilities(stop.signal)).rejects.toThrow("left");
    stop.abort(new Error("left"));
    await left;
    await expect(pair.client.capabilities(stop.signal)).rejects.toThrow("left");
    const stream = pair.client.fingerprint(stop.signal)[Symbol.asyncIterator]();
    await expect(stream.next()).rejects.toThrow("left");
    const unused = pair.client.fingerprint(new AbortController().signal)[Symbol.asyncIterator]();
    expect(await unused.return?.()).toEqual({ done: true, value: undefined });
    expect(await unused.next()).toEqual({ done: true, value: undefined });
  });
});
