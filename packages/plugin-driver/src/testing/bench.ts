/** An offline bench: a driver behind a real socket, with an allocation folder, fifos and restarts, but without any agent. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants, mkdirSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { systemClock, type Clock } from "@outrider/backoff";
import type { DriverPlugin, TaskConfig, TaskHandle } from "../contract/driver.ts";
import { encodeConfig } from "../config/encode-config.ts";
import { connectPlugin } from "../host/connect-plugin.ts";
import type { HostedDriver } from "../host/hosted-driver.ts";
import { createDriverServer } from "../serve/create-driver-server.ts";
import type { DriverServer } from "../serve/driver-server.ts";

/** Options of {@link createBench}. @public */
export interface BenchOptions {
  /** Makes one plugin instance; called again for every restart. */
  readonly create: () => DriverPlugin | Promise<DriverPlugin>;
  /** The agent's `config` block for the driver. */
  readonly config?: unknown;
  readonly clock?: Clock;
}

/** A task that the bench has prepared, not started. @public */
export interface BenchTask {
  readonly config: TaskConfig;
  /** What the task has written so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
}

/** The bench. @public */
export interface Bench extends AsyncDisposable {
  /** The driver as an agent's client sees it; another object after {@link Bench.restart}. */
  readonly driver: HostedDriver;
  /** Prepares folders and fifos for a task and encodes its `config` block by the driver's schema. */
  task(config: unknown, over?: Partial<TaskConfig>): Promise<BenchTask>;
  /** The plugin dies without a word and a new instance starts, as after `kill -9`. */
  restart(): Promise<void>;
  /** The agent dies without a word and the next one finds the plugin, as after `kill -9` of the agent. */
  reattach(): Promise<void>;
  /** A handle as an agent has it after its own restart: without the `config` block. */
  stored(handle: TaskHandle): TaskHandle;
}

const run = promisify(execFile);

/** Reads a fifo into memory until it is closed here; a task may open and close it as often as it likes. */
async function collect(path: string): Promise<{ readonly text: () => string; readonly close: () => void }> {
  await run("mkfifo", ["-m", "600", path]);
  // Read and write: without a writer of ours the first task to close it would end the stream.
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  let text = "";
  const socket = new Socket({ fd, readable: true, writable: false });
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
  socket.on("error", () => undefined);
  return { text: () => text, close: () => socket.destroy() };
}

/**
 * Starts the bench. `await using` ends it with everything in it.
 * @public
 */
export async function createBench(o: BenchOptions): Promise<Bench> {
  const { clock = systemClock } = o;
  const folder = mkdtempSync(join(tmpdir(), "opb-"));
  const allocId = "00000000-1111-2222-3333-444444444444";
  const closers: (() => void)[] = [];
  let round = 0;
  let server: DriverServer;
  let driver: HostedDriver;
  let socketPath = "";

  async function launch(): Promise<void> {
    socketPath = join(folder, `s${round++}`);
    server = await createDriverServer(await o.create(), { socketPath, clock });
    driver = await connectPlugin({ socketPath, clock });
    const schema = await driver.configSchema();
    const bytes = schema === undefined ? new Uint8Array() : encodeConfig(schema, o.config ?? {});
    // Twice without and once with the agent's own settings, as at a real boot.
    await driver.setConfig(bytes);
    await driver.setConfig(bytes);
    await driver.setConfig(bytes, { clientMinPort: 14_000, clientMaxPort: 14_512 });
  }

  async function task(config: unknown, over: Partial<TaskConfig> = {}): Promise<BenchTask> {
    const name = over.name ?? "web";
    const suffix = randomBytes(4).toString("hex");
    const allocDir = join(folder, "alloc");
    const logs = join(allocDir, "alloc", "logs");
    mkdirSync(logs, { recursive: true });
    for (const part of ["alloc", "local", "secrets"]) mkdirSync(join(allocDir, name, part), { recursive: true });
    const stdoutPath = join(logs, `.${name}.${suffix}.stdout.fifo`);
    const stderrPath = join(logs, `.${name}.${suffix}.stderr.fifo`);
    const out = await collect(stdoutPath);
    const err = await collect(stderrPath);
    closers.push(out.close, err.close);
    const schema = await driver.taskConfigSchema();
    return {
      stdout: out.text,
      stderr: err.text,
      config: {
        id: `${allocId}/${name}/${suffix}`,
        name,
        jobId: "bench",
        jobName: "bench",
        taskGroupName: "bench",
        allocId,
        namespace: "default",
        nodeId: "bench",
        nodeName: "bench",
        parentJobId: "",
        msgpackDriverConfig: encodeConfig(schema, config),
        env: { PATH: "/usr/local/bin:/usr/bin:/bin", NOMAD_TASK_NAME: name },
        deviceEnv: {},
        resources: { cpuShares: 100, memoryMb: 64, memoryMaxMb: 0, ports: [] },
        mounts: [],
        devices: [],
        user: "",
        allocDir,
        stdoutPath,
        stderrPath,
        ...over,
      },
    };
  }

  await launch();
  return {
    get driver() {
      return driver;
    },
    task,
    async restart() {
      driver.detach();
      await server.close();
      await launch();
    },
    async reattach() {
      driver.detach();
      driver = await connectPlugin({ socketPath, clock });
    },
    stored: (handle) => ({ ...handle, config: { ...handle.config, msgpackDriverConfig: new Uint8Array() } }),
    async [Symbol.asyncDispose]() {
      driver.detach();
      await server.close();
      for (const close of closers) close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
