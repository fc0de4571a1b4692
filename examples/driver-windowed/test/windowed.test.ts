import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock } from "@outrider/backoff/testing";
import {
  defineDriver,
  type DriverPlugin,
  type ExitResult,
  PluginShutdownError,
  RecoverableError,
  schema,
  type TaskConfig,
  type TaskHandle,
} from "@outrider/plugin-driver";
import { encodeConfig, processIdentity } from "@outrider/plugin-driver/host";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWindowedDriver } from "../src/create-driver.ts";
import type { InnerDriver } from "../src/inner-drivers.ts";

const NIGHT = { window_start: "0 22 * * * *", window_end: "0 6" };
const at = (text: string): number => Date.parse(`2026-03-02T${text}:00Z`);

/** What the wrapped driver was asked, and what its tasks answer. */
class Inner {
  readonly calls: string[] = [];
  readonly tasks = new Map<string, (result: ExitResult) => void>();
  readonly driver: DriverPlugin;
  failStart: Error | undefined;
  failRecover: Error | undefined;

  constructor(clock: ManualClock) {
    const running = (id: string) => {
      let end: (result: ExitResult) => void = () => undefined;
      const ended = new Promise<ExitResult>((resolve) => (end = resolve));
      this.tasks.set(id, end);
      return {
        state: { id },
        wait: () => ended,
        stop: (timeoutMs: number, name: string) => {
          this.calls.push(`stop ${id} ${timeoutMs} ${name}`);
          end({ exitCode: 143, signal: 15, oomKilled: false });
          return Promise.resolve();
        },
        signal: (name: string) => Promise.resolve(void this.calls.push(`signal ${name}`)),
        exec: () =>
          Promise.resolve({
            stdout: Buffer.from("out"),
            stderr: new Uint8Array(),
            exitResult: { exitCode: 0, signal: 0, oomKilled: false },
          }),
      };
    };
    this.driver = defineDriver(
      {
        name: "inner",
        version: "1.0.0",
        taskConfig: schema.object({ text: schema.string().required() }),
        start: (task, { text }) => {
          this.calls.push(`start ${task.id.split("/").at(-1)} ${text}`);
          if (this.failStart !== undefined) return Promise.reject(this.failStart);
          return Promise.resolve(running(task.id.split("/").at(-1) ?? ""));
        },
        recover: ({ state }: { state: { id: string } }) => {
          this.calls.push(`recover ${state.id}`);
          if (this.failRecover !== undefined) return Promise.reject(this.failRecover);
          return Promise.resolve(running(state.id));
        },
      },
      { clock },
    );
  }
}

let folder: string;
let clock: ManualClock;
let inner: Inner;
let drop: (() => void)[];
let outer: DriverPlugin;
const opened: string[] = [];

async function make(): Promise<DriverPlugin> {
  const driver = createWindowedDriver({
    clock,
    open: (label) => {
      opened.push(label);
      const { driver: plugin } = inner;
      let gone = false;
      let end: () => void = () => undefined;
      const over = new Promise<void>((resolve) => (end = resolve));
      drop.push(() => {
        gone = true;
        end();
      });
      // A connection: after its end every call says so, and waits that are under way too.
      const wrapped = new Proxy(plugin, {
        get: (target, key) => {
          if (key === "gone") return over;
          if (key === "stop") return () => Promise.resolve();
          const value: unknown = Reflect.get(target, key);
          if (typeof value !== "function") return value;
          if (key === "fingerprint" || key === "taskStats") return value.bind(target) as unknown;
          return (...args: unknown[]) => {
            if (gone) return Promise.reject(new PluginShutdownError());
            const answer = (value as (...a: unknown[]) => unknown).apply(target, args);
            const shut = over.then(() => Promise.reject(new PluginShutdownError()));
            return Promise.race([answer, shut]);
          };
        },
      });
      return Promise.resolve(wrapped as InnerDriver);
    },
  });
  const block = { driver: { it: { command: "/plugins/inner" } } };
  await driver.setConfig(encodeConfig((await driver.configSchema()) as never, block));
  return driver;
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "windowed-"));
  mkdirSync(join(folder, "web"));
  clock = new ManualClock({ now: at("21:00") });
  inner = new Inner(clock);
  drop = [];
  opened.length = 0;
  outer = await make();
});
afterEach(async () => {
  for (const entry of tasks) await outer.destroyTask(entry, true);
  tasks.length = 0;
  rmSync(folder, { recursive: true, force: true });
});
const tasks: string[] = [];

async function task(config: object, env: Record<string, string> = {}): Promise<TaskConfig> {
  const id = "a/web/0a0b0c0d";
  return {
    id,
    name: "web",
    jobId: "j",
    jobName: "j",
    taskGroupName: "g",
    allocId: "a",
    namespace: "default",
    nodeId: "n",
    nodeName: "n",
    parentJobId: "",
    msgpackDriverConfig: encodeConfig(await outer.taskConfigSchema(), { driver: "it", ...config }),
    env,
    deviceEnv: {},
    mounts: [],
    devices: [],
    user: "",
    allocDir: folder,
    stdoutPath: "/dev/null",
    stderrPath: "/dev/null",
  };
}

async function start(config: object = { config: { text: "t" }, ...NIGHT }, env = {}): Promise<TaskHandle> {
  const { handle } = await outer.startTask(await task(config, env));
  tasks.push(handle.config.id);
  return handle;
}
const ID = "a/web/0a0b0c0d";
const state = async (): Promise<string> => (await outer.inspectTask(ID)).status.attributes["open"] ?? "";

describe("a windowed task", () => {
  it("waits for its window, runs in it, is stopped at its end, and runs again in the next one", async () => {
    const events: string[] = [];
    const listening = new AbortController();
    const feed = (async () => {
      for await (const { message, taskName } of outer.taskEvents(listening.signal))
        events.push(`${taskName}: ${message}`);
    })();
    await clock.flush();
    await start();
    await clock.flush();
    expect([inner.calls, await state()]).toEqual([[], "false"]);
    await clock.advance(59 * 60_000);
    expect(inner.calls).toEqual([]);
    await clock.advance(60_000);
    expect([inner.calls, await state()]).toEqual([["start 0a0b0c0d.1 t"], "true"]);
    await clock.advance(8 * 3_600_000 - 1);
    expect(inner.calls).toHaveLength(1);
    await clock.advance(1);
    expect(inner.calls.slice(1)).toEqual(["stop 0a0b0c0d.1 5000 "]);
    expect(await state()).toBe("false");
    await clock.advance(16 * 3_600_000);
    expect(inner.calls.slice(2)).toEqual(["start 0a0b0c0d.2 t"]);
    listening.abort();
    await feed;
    expect(events).toEqual([
      "web: Waiting for the window, which opens 2026-03-02T22:00:00.000Z",
      "web: Window open: the task was started",
      "web: Window closed: the task was stopped",
      "web: Waiting for the window, which opens 2026-03-03T22:00:00.000Z",
      "web: Window open: the task was started",
    ]);
  });

  it("starts at once in an open window, told by meta, and ends with the exit of the wrapped task", async () => {
    clock.setWall(at("23:00"));
    const meta = {
      NOMAD_META_window_start: "0 22 * * * *",
      NOMAD_META_WINDOW_END: "0 6",
      NOMAD_META_window_timezone: "UTC",
    };
    await start({ config: { text: "$${not a template} %%{at all}" } }, meta);
    expect(inner.calls).toEqual(["start 0a0b0c0d.1 ${not a template} %{at all}"]);
    const wait = outer.waitTask(ID);
    inner.tasks.get("0a0b0c0d.1")?.({ exitCode: 3, signal: 0, oomKilled: true });
    expect(await wait).toEqual({ exitCode: 3, signal: 0, oomKilled: true });
    await outer.destroyTask(ID, false);
    expect(readdirSync(join(folder, "web"))).toEqual([]);
    tasks.length = 0;
  });

  it("passes signals, commands and the stop on while its window is open, and refuses them while it is closed", async () => {
    await start();
    await expect(outer.signalTask(ID, "SIGHUP")).rejects.toThrow("waits for its window");
    await expect(outer.execTask(ID, ["a"], 0)).rejects.toThrow("waits for its window");
    const exec = outer.execTaskStreaming?.(
      ID,
      { command: ["a"], tty: false },
      (async function* () {})(),
      new AbortController().signal,
    );
    await expect(exec?.[Symbol.asyncIterator]().next()).rejects.toThrow("waits for its window");
    await clock.advance(3_600_000);
    await outer.signalTask(ID, "SIGHUP");
    expect(Buffer.from((await outer.execTask(ID, ["a"], 0)).stdout).toString()).toBe("out");
    await outer.stopTask(ID, 7_000, "SIGTERM");
    expect(await outer.waitTask(ID)).toMatchObject({ exitCode: 143 });
    expect(inner.calls.slice(1)).toEqual(["signal SIGHUP", "stop 0a0b0c0d.1 7000 SIGTERM"]);
  });

  it("ends at once when it is stopped while it waits", async () => {
    await start();
    await outer.stopTask(ID, 5_000, "");
    expect(await outer.waitTask(ID)).toEqual({ exitCode: 0, signal: 0, oomKilled: false });
    expect(inner.calls).toEqual([]);
  });

  it.each<[string, object, RegExp]>([
    ["without a window", { config: { text: "t" } }, /^window_start is missing/],
    ["without an end of the window", { config: { text: "t" }, window_start: "0 22 * * * *" }, /^window_end is missing/],
    ["with a window that cannot be read", { config: { text: "t" }, window_start: "x", window_end: "0 6" }, /^window: /],
    [
      "with a wrapped driver that nobody knows",
      { driver: "other", ...NIGHT },
      /driver "other" is not one of this plugin's: it/,
    ],
    ["with a config that the wrapped driver refuses", { config: {}, ...NIGHT }, /config.text: is required/],
  ])("is refused %s, although its window is closed", async (_what, config, message) => {
    await expect(outer.startTask(await task(config))).rejects.toThrow(message);
    expect(execFileSync("ps", ["-o", "args", "--ppid", String(process.pid)]).toString()).not.toContain("sleep 86400");
  });

  it("fails like the wrapped driver in an open window, and tries again where that may help once it has been accepted", async () => {
    clock.setWall(at("23:00"));
    inner.failStart = new RecoverableError("no image", false);
    await expect(outer.startTask(await task({ config: { text: "t" }, ...NIGHT }))).rejects.toMatchObject({
      message: "no image",
      recoverable: false,
    });
    clock.setWall(at("21:00"));
    inner.calls.length = 0;
    await start();
    inner.failStart = new RecoverableError("registry is busy", true);
    await clock.advance(3_600_000);
    expect(inner.calls).toHaveLength(1);
    await clock.advance(1_000);
    expect(inner.calls).toHaveLength(2);
    inner.failStart = undefined;
    await clock.advance(2_000);
    expect(await state()).toBe("true");
    expect(inner.calls.at(-1)).toBe("start 0a0b0c0d.3 t");
  });

  it("ends with an error when the start in its window fails for good", async () => {
    await start();
    inner.failStart = new RecoverableError("no image", false);
    await clock.advance(3_600_000);
    expect(await outer.waitTask(ID)).toMatchObject({ exitCode: -1, error: "no image" });
  });

  it("outlives the wrapped driver's process", async () => {
    clock.setWall(at("23:00"));
    await start();
    await clock.flush();
    drop[0]?.();
    await clock.advance(1_000);
    expect(opened).toEqual(["it", "it"]);
    inner.tasks.get("0a0b0c0d.1")?.({ exitCode: 8, signal: 0, oomKilled: false });
    expect(await outer.waitTask(ID)).toMatchObject({ exitCode: 8 });
  });
});

describe("after a restart of the plugin", () => {
  /** The clock of the instance before stands still, which is as good as dead. */
  const restarted = async (handle: TaskHandle, now = clock.now()): Promise<void> => {
    clock = new ManualClock({ now });
    outer = await make();
    await outer.recoverTask({ ...handle, config: { ...handle.config, msgpackDriverConfig: new Uint8Array() } });
    await clock.flush();
  };

  it("a running task is found again and ends with its exit code", async () => {
    clock.setWall(at("23:00"));
    const handle = await start();
    inner = Object.assign(new Inner(clock), { calls: inner.calls });
    await restarted(handle);
    expect(inner.calls).toEqual(["start 0a0b0c0d.1 t", "recover 0a0b0c0d.1"]);
    inner.tasks.get("0a0b0c0d.1")?.({ exitCode: 4, signal: 0, oomKilled: false });
    expect(await outer.waitTask(ID)).toMatchObject({ exitCode: 4 });
  });

  it("a waiting task goes on waiting, and one whose window has closed meanwhile is stopped", async () => {
    const handle = await start();
    await restarted(handle);
    expect(inner.calls).toEqual([]);
    await clock.advance(3_600_000);
    expect(inner.calls).toEqual(["start 0a0b0c0d.1 t"]);
    await restarted(handle, at("22:00") + 10 * 3_600_000);
    await clock.advance(1);
    expect(inner.calls.slice(1)).toEqual(["stop 0a0b0c0d.1 5000 "]);
  });

  it("a task that the wrapped driver has lost is given up, with everything of it", async () => {
    clock.setWall(at("23:00"));
    const handle = await start();
    tasks.length = 0;
    const keeper = JSON.parse(Buffer.from(handle.driverState).toString()) as { process: { pid: number } };
    expect(existsSync(`/proc/${keeper.process.pid}`)).toBe(true);
    inner = new Inner(clock);
    inner.failRecover = new RecoverableError("gone", false);
    outer = await make();
    await expect(outer.recoverTask(handle)).rejects.toThrow("gone");
    const killing = outer.killLeftovers?.(handle);
    await clock.advance(2_000);
    await killing;
    await vi.waitFor(() => expect(processIdentity(keeper.process.pid)).toBeUndefined(), 20_000);
  });
});

describe("the fingerprint", () => {
  it("is as healthy as the wrapped drivers", async () => {
    const first = async (driver: DriverPlugin): Promise<object> => {
      for await (const print of driver.fingerprint(new AbortController().signal)) return print;
      return {};
    };
    expect(await first(outer)).toMatchObject({
      health: "healthy",
      attributes: { "driver.windowed.drivers": { value: "it" } },
    });
    const none = createWindowedDriver({ clock });
    await none.setConfig(new Uint8Array());
    expect(await first(none)).toMatchObject({
      health: "undetected",
      healthDescription: expect.stringContaining("no driver") as string,
    });
    const broken = createWindowedDriver({ clock, open: () => Promise.reject(new Error("no such file")) });
    await broken.setConfig(encodeConfig((await broken.configSchema()) as never, { driver: { it: { command: "/p" } } }));
    expect(await first(broken)).toMatchObject({ health: "unhealthy", healthDescription: "it: no such file" });
  });
});
