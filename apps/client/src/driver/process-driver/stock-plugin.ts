/** The process driver for agents of others: a go-plugin plugin that keeps its state in a folder of its own. */
import { type Clock, sleep } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import {
  type Capabilities,
  type DriverPlugin,
  type DriverTaskEvent,
  type ExecInput,
  type ExecOutput,
  type ExecRequest,
  type ExecResult,
  type ExitResult,
  type Fingerprint,
  type HclSpec,
  type InspectedTask,
  type PluginInfo,
  RecoverableError,
  type StartedTask,
  type TaskConfig,
  type TaskHandle,
  type TaskResourceUsage,
} from "@outrider/plugin-driver";
import { decode } from "@msgpack/msgpack";
import { ProcessDriver } from "./process-driver.ts";
import { TASK_SCHEMA } from "./task-settings.ts";

/** Where state is kept when the agent's configuration does not say, followed by the driver's name. */
export const DEFAULT_STATE_FOLDER = "/var/lib/outrider";
/** How long an earlier process may take to end. */
const LOCK_MS = 10_000;
const LOCK_STEP_MS = 100;

/** How the plugin works. */
export interface StockPluginOptions {
  /** The driver's name in job files; Nomad's own `raw_exec` would be replaced by one of that name. */
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Takes a folder and makes the driver over it; `undefined` while another process holds the folder. */
  readonly open: (dataDir: string, name: string) => Promise<ProcessDriver | undefined>;
}

/**
 * An agent starts a plugin three times and uses the third one: nothing is touched before it asks for something that needs the state.
 */
export class StockPlugin implements DriverPlugin {
  readonly #o: StockPluginOptions;
  #dataDir: string;
  #driver: Promise<ProcessDriver> | undefined;

  constructor(options: StockPluginOptions) {
    this.#o = options;
    this.#dataDir = `${DEFAULT_STATE_FOLDER}/${options.name}`;
  }

  async info(): Promise<PluginInfo> {
    return ProcessDriver.infoOf(this.#o.name);
  }

  async configSchema(): Promise<HclSpec> {
    return {
      kind: "object",
      attributes: { data_dir: { kind: "attr", name: "data_dir", type: "string", required: false } },
    };
  }

  async setConfig(config: Uint8Array): Promise<void> {
    const { data_dir: dataDir } = config.length === 0 ? {} : ((decode(config) ?? {}) as { data_dir?: unknown });
    if (dataDir === undefined || dataDir === null || dataDir === "") return;
    if (typeof dataDir !== "string" || !dataDir.startsWith("/") || dataDir.includes("\0"))
      throw new RecoverableError(`data_dir ${JSON.stringify(dataDir)} must be an absolute path`, false);
    if (this.#driver !== undefined && dataDir !== this.#dataDir)
      throw new RecoverableError(`data_dir cannot be changed while the driver runs, from ${this.#dataDir}`, false);
    this.#dataDir = dataDir;
  }

  async taskConfigSchema(): Promise<HclSpec> {
    return TASK_SCHEMA;
  }

  async capabilities(): Promise<Capabilities> {
    return ProcessDriver.capabilities;
  }

  async *fingerprint(signal: AbortSignal): AsyncGenerator<Fingerprint> {
    for (;;) {
      let driver: ProcessDriver;
      try {
        driver = await this.#open();
      } catch (reason) {
        // told, and tried again: the stream itself must not end
        yield { attributes: {}, health: "unhealthy", healthDescription: (reason as Error).message };
        await sleep(LOCK_MS, { clock: this.#o.clock, signal, ref: false });
        continue;
      }
      yield* driver.fingerprint(signal);
      return;
    }
  }

  async recoverTask(handle: TaskHandle, signal?: AbortSignal): Promise<void> {
    await (await this.#open()).recoverTask(handle, signal);
  }

  async startTask(config: TaskConfig, signal?: AbortSignal): Promise<StartedTask> {
    return (await this.#open()).startTask(config, signal);
  }

  async waitTask(taskId: string, signal?: AbortSignal): Promise<ExitResult> {
    return (await this.#open()).waitTask(taskId, signal);
  }

  async stopTask(taskId: string, timeoutMs: number, signalName: string, signal?: AbortSignal): Promise<void> {
    await (await this.#open()).stopTask(taskId, timeoutMs, signalName, signal);
  }

  async destroyTask(taskId: string, force: boolean, signal?: AbortSignal): Promise<void> {
    await (await this.#open()).destroyTask(taskId, force, signal);
  }

  async inspectTask(taskId: string): Promise<InspectedTask> {
    return (await this.#open()).inspectTask(taskId);
  }

  async *taskStats(taskId: string, intervalMs: number, signal: AbortSignal): AsyncGenerator<TaskResourceUsage> {
    yield* (await this.#open()).taskStats(taskId, intervalMs, signal);
  }

  async *taskEvents(signal: AbortSignal): AsyncGenerator<DriverTaskEvent> {
    yield* ProcessDriver.noEvents(signal);
  }

  async signalTask(taskId: string, signalName: string): Promise<void> {
    await (await this.#open()).signalTask(taskId, signalName);
  }

  async execTask(
    taskId: string,
    command: readonly string[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<ExecResult> {
    return (await this.#open()).execTask(taskId, command, timeoutMs, signal);
  }

  async *execTaskStreaming(
    taskId: string,
    request: ExecRequest,
    input: AsyncIterable<ExecInput>,
    signal: AbortSignal,
  ): AsyncGenerator<ExecOutput> {
    yield* (await this.#open()).execTaskStreaming(taskId, request, input, signal);
  }

  #open(): Promise<ProcessDriver> {
    this.#driver ??= this.#take().catch((reason: unknown) => {
      this.#driver = undefined;
      throw reason;
    });
    return this.#driver;
  }

  /** An agent that starts a new plugin has given up the old one, which may need a moment to end. */
  async #take(): Promise<ProcessDriver> {
    const { open, clock, name } = this.#o;
    for (let waited = 0; waited < LOCK_MS; waited += LOCK_STEP_MS) {
      const driver = await open(this.#dataDir, name);
      if (driver !== undefined) return driver;
      await sleep(LOCK_STEP_MS, { clock });
    }
    throw new RecoverableError(
      `another process works with ${this.#dataDir}: give each agent a folder of its own (data_dir in the plugin's config)`,
      true,
    );
  }
}
