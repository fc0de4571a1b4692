import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { noopLogger } from "@outrider/foundation";
import { afterEach, describe, expect, it } from "vitest";
import { createDriverManager } from "../../src/driver/create-driver-manager.ts";
import { defaultDriverCommand } from "../../src/driver/driver-command.ts";
import { alive, type Harness, pause, startHarness, until } from "./harness.ts";

let h: Harness;
afterEach(() => h?.close());
const signal = AbortSignal.timeout(60_000);
const source = (name: string): string[] => [
  "--import",
  import.meta.resolve("tsx"),
  "--conditions=@outrider/source",
  fileURLToPath(new URL(name, import.meta.url)),
];

describe("the driver process", () => {
  it("is one, however many agents and callers start it at once", async () => {
    h = await startHarness();
    const others = [1, 2, 3].map(() =>
      createDriverManager({ dataDir: h.dataDir, logger: noopLogger, driverCommand: defaultDriverCommand() }),
    );
    await Promise.all([h.driver(), ...others.flatMap((m) => [1, 2, 3].map(() => m.dispense("raw_exec", { signal })))]);
    const log = readFileSync(join(h.dataDir, "driver", "driver.log"), "utf8");
    expect(log.match(/driver process serves/g)).toHaveLength(1);
    const second = spawn(
      process.execPath,
      [...source("../../src/driver/process-driver/driver-main.ts"), "--data-dir", h.dataDir],
      { stdio: "ignore" },
    );
    expect(await once(second, "exit")).toEqual([3, null]);
    await Promise.all(others.map((m) => m[Symbol.asyncDispose]()));
  });

  it("outlives its agent and a terminal's signals, and a new agent finds its tasks", async () => {
    h = await startHarness();
    const driver = await h.driver();
    const task = await h.prepare("sleep", ["1000"]);
    const { handle } = await driver.startTask(task.config);
    const pid = h.driverPid();
    await h.restartAgent();
    for (const name of ["SIGINT", "SIGHUP"] as const) process.kill(pid, name);
    await pause(100);
    const next = await h.driver();
    expect(h.driverPid()).toBe(pid);
    await next.recoverTask(handle);
    expect((await next.inspectTask(task.config.id)).status.state).toBe("running");
    await next.destroyTask(task.config.id, true);
  });

  it("rejects calls on a dead connection, pending and later ones, and announces its end", async () => {
    h = await startHarness();
    const instance = await h.drivers.dispense("raw_exec", { signal });
    const task = await h.prepare("sleep", ["1000"]);
    await instance.plugin.startTask(task.config);
    const waiting = instance.plugin.waitTask(task.config.id);
    waiting.catch(() => undefined);
    await h.killDriver();
    await instance.gone;
    await expect(waiting).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    await expect(instance.plugin.waitTask(task.config.id)).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN",
    });
    const next = await h.drivers.dispense("raw_exec", { signal, newerThan: instance.generation });
    expect(next.generation).toBe(instance.generation + 1);
    await next.plugin.destroyTask(task.config.id, true);
  });

  it.each(["tomorrow", "yesterday"])("is replaced when it speaks the protocol of %s", async (age) => {
    h = await startHarness();
    const old = spawn(process.execPath, [...source("./other-protocol.ts"), h.dataDir, age], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(old.stdout, "data");
    const driver = await h.driver();
    expect((await driver.info()).name).toBe("raw_exec");
    expect([old.exitCode, old.signalCode]).toEqual(age === "tomorrow" ? [0, null] : [null, "SIGTERM"]);
  });

  it("is replaced when something deaf sits on its socket, and not before it has had its time", async () => {
    h = await startHarness();
    const task = await h.prepare("sleep", ["1000"]);
    await (await h.driver()).startTask(task.config);
    const victim = h.driverPid();
    process.kill(victim, "SIGSTOP");
    await h.restartAgent();
    const waiting = h.driver();
    await pause(500);
    process.kill(victim, "SIGCONT");
    const next = await waiting;
    expect(h.driverPid()).toBe(victim);
    await next.destroyTask(task.config.id, true);
  });

  it("ends with its agent when it holds no task, and only then", async () => {
    h = await startHarness();
    const task = await h.prepare("sleep", ["1000"]);
    const driver = await h.driver();
    await driver.startTask(task.config);
    const pid = h.driverPid();
    await h.restartAgent();
    const next = await h.driver();
    expect(h.driverPid()).toBe(pid);
    await next.destroyTask(task.config.id, true);
    await h.drivers.logCollector.stop(task.config.id.slice(0, task.config.id.lastIndexOf("/")));
    await h.drivers[Symbol.asyncDispose]();
    await until("the end of the driver process", () => !alive(pid));
  });

  it("says why when it cannot serve", async () => {
    h = await startHarness({ command: { command: process.execPath, args: ["-e", "process.exit(7)", "--"] } });
    await expect(h.driver()).rejects.toMatchObject({
      code: "ERR_OUTRIDER_DRIVER_START",
      message: expect.stringContaining("ended with code 7"),
    });
  });

  it("publishes what it can do on this machine", async () => {
    h = await startHarness();
    const changes: Array<{ name: string; healthy: boolean; attributes: Readonly<Record<string, string>> }> = [];
    h.drivers.onChange(({ name, info, attributes }) => changes.push({ name, healthy: info.Healthy, attributes }));
    await h.drivers.start(signal);
    expect(changes.at(-1)).toMatchObject({ name: "raw_exec", healthy: true, attributes: { "driver.raw_exec": "1" } });
    expect(Object.keys(changes.at(-1)?.attributes ?? {})).toEqual(
      expect.arrayContaining(["driver.raw_exec.members", "driver.raw_exec.logs", "driver.raw_exec.users"]),
    );
  });

  it("opens no door to the network or to other users", async () => {
    h = await startHarness();
    await h.driver();
    const pid = h.driverPid();
    const inodes = new Set(
      readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
        try {
          return [/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? ""];
        } catch {
          return [];
        }
      }),
    );
    for (const table of ["tcp", "tcp6", "udp", "udp6"]) {
      const rows = readFileSync(`/proc/${pid}/net/${table}`, "utf8").trim().split("\n").slice(1);
      expect(rows.filter((row) => inodes.has(row.trim().split(/\s+/)[9] ?? ""))).toEqual([]);
    }
    // the lock answers nobody
    const lock = readFileSync("/proc/net/unix", "utf8")
      .split("\n")
      .map((row) => row.trim().split(/\s+/))
      .filter((row) => inodes.has(row[6] ?? "") && row[7]?.startsWith("@outrider-") === true);
    expect(lock).toHaveLength(1);
    const socket = createConnection(`\0${(lock[0]?.[7] ?? "").slice(1)}`);
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    const heard = await new Promise((resolve) => {
      socket.on("error", () => undefined);
      socket.on("data", () => resolve("an answer"));
      socket.on("close", () => resolve("nothing"));
    });
    expect(heard).toBe("nothing");
  });
});

describe("drivers of others", () => {
  it("are run from the plugin folder when they are named, and only then", async () => {
    const root = mkdtempSync(join(tmpdir(), "outrider-plugins-"));
    const dir = join(root, "plugins");
    mkdirSync(dir);
    const executable = (file: string, text: string): void => {
      writeFileSync(join(dir, file), text);
      chmodSync(join(dir, file), 0o755);
    };
    const entry = fileURLToPath(new URL("../../../../examples/driver-hello/src/driver-hello.ts", import.meta.url));
    executable(
      "hello",
      `#!/bin/sh\nexec "${process.execPath}" --import "${import.meta.resolve("tsx")}" --conditions=@outrider/source "${entry}"\n`,
    );
    executable("unnamed", `#!/bin/sh\ntouch "${root}/was-run"\n`);
    const make = () =>
      createDriverManager({
        dataDir: join(root, "data"),
        logger: noopLogger,
        driverCommand: defaultDriverCommand(),
        pluginDir: dir,
        plugins: [
          { file: "hello", name: "hello" },
          { file: "missing", name: "missing" },
          { file: "hello", name: "other" },
        ],
      });
    const drivers = make();
    expect(drivers.names).toEqual(["raw_exec", "hello", "missing", "other"]);
    const instance = await drivers.dispense("hello", { signal });
    expect((await instance.plugin.info()).name).toBe("hello");
    const pid = (instance.plugin as unknown as { pid: number }).pid;
    // an agent that was killed leaves it running; the next one finds it
    const heir = make();
    const same = await heir.dispense("hello", { signal });
    expect((same.plugin as unknown as { pid: number }).pid).toBe(pid);
    process.kill(pid, "SIGKILL");
    await Promise.all([instance.gone, same.gone]);
    expect((await drivers.dispense("hello", { signal, newerThan: 1 })).generation).toBe(2);
    await heir[Symbol.asyncDispose]();
    await expect(drivers.dispense("missing", { signal })).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_START" });
    await expect(drivers.dispense("other", { signal })).rejects.toMatchObject({ code: "ERR_OUTRIDER_DRIVER_NAME" });
    await drivers[Symbol.asyncDispose]();
    await instance.gone;
    expect(() => readFileSync(join(root, "was-run"))).toThrow("ENOENT");
    rmSync(root, { recursive: true, force: true });
  });
});
