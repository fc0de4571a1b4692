/** A driver manager with a real driver process in a folder of its own. */
import { systemClock } from "@outrider/backoff";
import { noopLogger } from "@outrider/foundation";
import type { DriverPlugin, TaskConfig } from "@outrider/plugin-driver";
import { encode } from "@msgpack/msgpack";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClientDrivers, createDriverManager } from "../../src/driver/create-driver-manager.ts";
import { defaultDriverCommand } from "../../src/driver/driver-command.ts";
import type { DriverCommand } from "../../src/driver/driver-process.ts";

export interface TestTask {
  readonly config: TaskConfig;
  readonly logDir: string;
  stdout(): string;
  stderr(): string;
}

export interface Harness {
  readonly dataDir: string;
  readonly drivers: ClientDrivers;
  /** The driver as it is now, reconnected if need be. */
  driver(newerThan?: number): Promise<DriverPlugin>;
  /** Makes an alloc dir and starts the collection of its output. */
  prepare(
    command: string,
    args: readonly string[],
    more?: Partial<TaskConfig> & { settings?: object; maxFiles?: number },
  ): Promise<TestTask>;
  /** A new agent on the same folder; the old one vanishes without a word. */
  restartAgent(): Promise<void>;
  driverPid(): number;
  killDriver(): Promise<void>;
  close(): Promise<void>;
}

export async function startHarness(
  o: { dataDir?: string; logLevel?: string; command?: DriverCommand } = {},
): Promise<Harness> {
  const root = mkdtempSync(join(tmpdir(), "outrider-driver-"));
  const dataDir = o.dataDir ?? join(root, "data");
  mkdirSync(dataDir, { recursive: true });
  const make = (): ClientDrivers =>
    createDriverManager({
      dataDir,
      logger: noopLogger,
      driverCommand: o.command ?? defaultDriverCommand(),
      driverLogLevel: o.logLevel ?? "debug",
      clock: systemClock,
    });
  let drivers = make();
  const pid = (): number => {
    const found = driverOf(dataDir);
    if (found === undefined) throw new Error("no driver process");
    return found;
  };
  const signal = AbortSignal.timeout(100_000);
  const harness: Harness = {
    dataDir,
    get drivers() {
      return drivers;
    },
    driver: async (newerThan) =>
      (await drivers.dispense("raw_exec", { signal, ...(newerThan === undefined ? {} : { newerThan }) })).plugin,
    async prepare(command, args, { settings = {}, maxFiles = 10, ...more } = {}) {
      const allocId = randomBytes(16).toString("hex");
      const name = more.name ?? "t";
      const allocDir = join(dataDir, "alloc", allocId);
      const logDir = join(allocDir, "alloc", "logs");
      mkdirSync(join(allocDir, name, "local"), { recursive: true });
      mkdirSync(logDir, { recursive: true });
      const stdoutPath = join(logDir, `.${name}.stdout.fifo`);
      const stderrPath = join(logDir, `.${name}.stderr.fifo`);
      await drivers.logCollector.start({
        id: `${allocId}/${name}`,
        taskName: name,
        logDir,
        stdoutFifo: stdoutPath,
        stderrFifo: stderrPath,
        maxFiles,
        maxFileSizeMb: 10,
      });
      const config: TaskConfig = {
        id: `${allocId}/${name}/${randomBytes(4).toString("hex")}`,
        name,
        jobId: "job",
        jobName: "job",
        taskGroupName: "group",
        allocId,
        namespace: "default",
        nodeId: "",
        nodeName: "",
        parentJobId: "",
        msgpackDriverConfig: encode({ command, args, ...settings }),
        env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
        deviceEnv: {},
        mounts: [],
        devices: [],
        user: "",
        allocDir,
        stdoutPath,
        stderrPath,
        ...more,
      };
      const read = (kind: string): string =>
        readdirSync(logDir)
          .filter((file) => file.startsWith(`${name}.${kind}.`))
          .sort((a, b) => Number(a.split(".").at(-1)) - Number(b.split(".").at(-1)))
          .map((file) => readFileSync(join(logDir, file), "latin1"))
          .join("");
      return { config, logDir, stdout: () => read("stdout"), stderr: () => read("stderr") };
    },
    async restartAgent() {
      await drivers[Symbol.asyncDispose]();
      drivers = make();
    },
    driverPid: pid,
    async killDriver() {
      const victim = pid();
      process.kill(victim, "SIGKILL");
      await gone(victim);
    },
    async close() {
      await drivers[Symbol.asyncDispose]();
      try {
        const last = pid();
        process.kill(last, "SIGTERM");
        await gone(last);
      } catch {
        // not running
      }
      rmSync(root, { recursive: true, force: true });
      if (o.dataDir !== undefined) rmSync(o.dataDir, { recursive: true, force: true });
    },
  };
  return harness;
}

/** The driver process of a data folder, by its command line; a child that has not begun its own program yet bears the same. */
function driverOf(dataDir: string): number | undefined {
  const found = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, "utf8");
      if (!line.includes(`\0--data-dir\0${dataDir}\0`) || !alive(Number(name))) continue;
      const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, "latin1"))?.[1];
      found.set(Number(name), Number(parent));
    } catch {
      // gone
    }
  }
  return [...found].find(([, parent]) => !found.has(parent))?.[0];
}

async function gone(pid: number): Promise<void> {
  for (let i = 0; i < 500 && alive(pid); i++) await pause(10);
}

/** Whether a process is there and no zombie. */
export function alive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return false;
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until a condition holds. */
export async function until(what: string, check: () => boolean, ms = 30_000): Promise<void> {
  const end = performance.now() + ms;
  while (!check()) {
    if (performance.now() > end) throw new Error(`timed out: ${what}`);
    await pause(10);
  }
}
