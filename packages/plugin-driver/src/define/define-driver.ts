/** From a short description to the whole contract: ids, waiting, results, recovery and everything a stock agent trips over. */
import { onAbort, sleep, systemClock, type Clock } from "@outrider/backoff";
import type { DriverTaskEvent, ExitResult, TaskResourceUsage } from "@outrider/nomad-structs";
import type {
  Capabilities,
  DriverPlugin,
  ExecInput,
  ExecOutput,
  ExecRequest,
  ExecResult,
  Fingerprint,
  InspectedTask,
  NomadDriverConfig,
  PluginInfo,
  StartedTask,
  TaskConfig,
  TaskHandle,
} from "../contract/driver.ts";
import {
  NotImplementedError,
  RecoverableError,
  StatsNotImplementedError,
  TaskNotFoundError,
} from "../contract/errors.ts";
import type { HclSpec } from "../contract/hclspec.ts";
import { decodeMsgpack } from "../config/decode-msgpack.ts";
import { isAlive, type ProcessIdentity, processIdentity, signalProcess } from "../process/process-identity.ts";
import type { BlockSchema, DriverDefinition, RunningTask } from "./driver-definition.ts";
import { Block } from "./schema.ts";

/** Format of the driver state that this file writes. */
const HANDLE_VERSION = 1;
const FINGERPRINT_PERIOD_MS = 30_000;
/** How long a killed process may take to go. */
const KILL_WAIT_MS = 2_000;
const KILL_POLL_MS = 20;

const DEFAULT_CAPABILITIES: Capabilities = {
  sendSignals: true,
  exec: false,
  fsIsolation: "none",
  networkIsolationModes: ["host"],
  mustCreateNetwork: false,
  mountConfigs: "none",
  disableLogCollection: false,
  dynamicWorkloadUsers: false,
};

interface SavedState {
  readonly process?: ProcessIdentity;
  readonly state: unknown;
}

interface Entry {
  readonly config: TaskConfig;
  readonly running: RunningTask<unknown>;
  readonly ended: Promise<ExitResult>;
  readonly startedAtMs: number;
  completedAtMs?: number;
  result?: ExitResult;
  /** Aborts the author's `wait` when the task is destroyed. */
  readonly over: AbortController;
}

/** Options of {@link defineDriver}. @public */
export interface DefineDriverOptions {
  readonly clock?: Clock;
}

function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => reject(signal.reason as Error));
    work.then(resolve, reject).finally(forget);
  });
}

const encode = (value: SavedState): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

function decodeState(bytes: Uint8Array): SavedState {
  try {
    const value = JSON.parse(new TextDecoder().decode(bytes)) as SavedState;
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // reported below, with the same words
  }
  throw new RecoverableError("recover task: the driver state is not of this driver", false);
}

class DefinedDriver implements DriverPlugin {
  readonly #d: DriverDefinition<BlockSchema, BlockSchema, unknown>;
  readonly #clock: Clock;
  readonly #tasks = new Map<string, Entry>();
  readonly #starting = new Set<string>();

  constructor(definition: DriverDefinition<BlockSchema, BlockSchema, unknown>, clock: Clock) {
    this.#d = definition;
    this.#clock = clock;
  }

  info(): Promise<PluginInfo> {
    const { name, version } = this.#d;
    return Promise.resolve({ name, type: "driver", version, apiVersions: ["v0.1.0"] });
  }

  configSchema(): Promise<HclSpec> {
    // Always an object, so that a `config` block is allowed.
    return Promise.resolve((this.#d.config ?? new Block({})).spec());
  }

  async setConfig(config: Uint8Array, nomad?: NomadDriverConfig): Promise<void> {
    const block = this.#d.config ?? new Block({});
    await this.#d.configure?.(block.read(decodeMsgpack(config)) as never, nomad);
  }

  async init(): Promise<void> {
    await this.#d.init?.();
  }

  async shutdown(): Promise<void> {
    await this.#d.shutdown?.();
  }

  taskConfigSchema(): Promise<HclSpec> {
    return Promise.resolve(this.#d.taskConfig.spec());
  }

  capabilities(): Promise<Capabilities> {
    return Promise.resolve({ ...DEFAULT_CAPABILITIES, ...this.#d.capabilities });
  }

  async *fingerprint(signal: AbortSignal): AsyncGenerator<Fingerprint> {
    for (;;) {
      const given = (await this.#d.fingerprint?.()) ?? {};
      yield {
        attributes: { [`driver.${this.#d.name}.version`]: { value: this.#d.version } },
        health: "healthy",
        healthDescription: "Healthy",
        ...given,
      };
      await sleep(FINGERPRINT_PERIOD_MS, { signal, clock: this.#clock, ref: false });
    }
  }

  async startTask(config: TaskConfig, signal?: AbortSignal): Promise<StartedTask> {
    const { id } = config;
    if (this.#tasks.has(id) || this.#starting.has(id)) {
      throw new RecoverableError(`start task: task ${id} is already started`, false);
    }
    const settings = this.#d.taskConfig.read(decodeMsgpack(config.msgpackDriverConfig));
    this.#starting.add(id);
    try {
      const running = await this.#d.start(config, settings as never, signal ?? new AbortController().signal);
      const identity = running.pid === undefined ? undefined : processIdentity(running.pid);
      this.#keep(config, running);
      const saved: SavedState = { state: running.state, ...(identity === undefined ? {} : { process: identity }) };
      return {
        handle: { version: HANDLE_VERSION, config, state: "running", driverState: encode(saved) },
        ...(running.network === undefined ? {} : { network: running.network }),
      };
    } finally {
      this.#starting.delete(id);
    }
  }

  async recoverTask(handle: TaskHandle, signal?: AbortSignal): Promise<void> {
    if (this.#tasks.has(handle.config.id)) return;
    const saved = decodeState(handle.driverState);
    const running = await this.#d.recover(
      {
        config: handle.config,
        state: saved.state,
        process: saved.process,
        alive: saved.process !== undefined && isAlive(saved.process),
      },
      signal ?? new AbortController().signal,
    );
    this.#keep(handle.config, running);
  }

  async killLeftovers(handle: TaskHandle): Promise<void> {
    const { process: identity } = decodeState(handle.driverState);
    if (identity === undefined || !signalProcess(identity, "SIGKILL", { group: true })) return;
    const until = this.#clock.monotonic() + KILL_WAIT_MS;
    while (isAlive(identity) && this.#clock.monotonic() < until) await sleep(KILL_POLL_MS, { clock: this.#clock });
  }

  async waitTask(taskId: string, signal?: AbortSignal): Promise<ExitResult> {
    return abortable(this.#task(taskId).ended, signal);
  }

  async stopTask(taskId: string, timeoutMs: number, signalName: string, signal?: AbortSignal): Promise<void> {
    const entry = this.#task(taskId);
    if (entry.result !== undefined) return;
    await abortable(entry.running.stop(timeoutMs, signalName), signal);
    await abortable(entry.ended, signal);
  }

  async destroyTask(taskId: string, force: boolean, signal?: AbortSignal): Promise<void> {
    const entry = this.#tasks.get(taskId);
    if (entry === undefined) {
      // A stock agent also destroys tasks that ended long ago: gone is what it asks for.
      if (force) return;
      throw new TaskNotFoundError(taskId);
    }
    if (entry.result === undefined) {
      if (!force) throw new RecoverableError(`destroy task: task ${taskId} still runs`, false);
      await abortable(entry.running.stop(0, ""), signal);
      await abortable(entry.ended, signal);
    }
    await entry.running.destroy?.();
    entry.over.abort();
    this.#tasks.delete(taskId);
  }

  async inspectTask(taskId: string): Promise<InspectedTask> {
    const { config, running, result, startedAtMs, completedAtMs } = this.#task(taskId);
    return {
      status: {
        id: taskId,
        name: config.name,
        state: result === undefined ? "running" : "exited",
        startedAtMs,
        ...(completedAtMs === undefined ? {} : { completedAtMs }),
        ...(result === undefined ? {} : { exitResult: result }),
        attributes: running.attributes?.() ?? {},
      },
      ...(running.network === undefined ? {} : { network: running.network }),
    };
  }

  async *taskStats(taskId: string, intervalMs: number, signal: AbortSignal): AsyncGenerator<TaskResourceUsage> {
    const { running, ended, result } = this.#task(taskId);
    if (running.stats === undefined) throw new StatsNotImplementedError();
    if (result !== undefined) return;
    const over = new AbortController();
    void ended.then(() => over.abort());
    try {
      yield* running.stats(intervalMs, AbortSignal.any([signal, over.signal]));
    } catch (reason) {
      // The end of the task is the normal end of its samples.
      if (!over.signal.aborted) throw reason;
    }
  }

  async *taskEvents(signal: AbortSignal): AsyncGenerator<DriverTaskEvent> {
    if (this.#d.events === undefined) await new Promise<void>((resolve) => onAbort(signal, resolve));
    else yield* this.#d.events(signal);
  }

  async signalTask(taskId: string, signalName: string): Promise<void> {
    const { running } = this.#task(taskId);
    if (running.signal === undefined) throw new NotImplementedError("SignalTask");
    await running.signal(signalName);
  }

  async execTask(
    taskId: string,
    command: readonly string[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<ExecResult> {
    const { running } = this.#task(taskId);
    if (running.exec === undefined) throw new NotImplementedError("ExecTask");
    return running.exec(command, timeoutMs, signal ?? new AbortController().signal);
  }

  async *execTaskStreaming(
    taskId: string,
    request: ExecRequest,
    input: AsyncIterable<ExecInput>,
    signal: AbortSignal,
  ): AsyncGenerator<ExecOutput> {
    const { running } = this.#task(taskId);
    if (running.execStreaming === undefined) throw new NotImplementedError("ExecTaskStreaming");
    yield* running.execStreaming(request, input, signal);
  }

  #keep(config: TaskConfig, running: RunningTask<unknown>): void {
    const over = new AbortController();
    const lost = (reason: unknown): ExitResult => ({
      exitCode: -1,
      signal: 0,
      oomKilled: false,
      error: reason instanceof Error ? reason.message : String(reason),
    });
    const entry: Entry = {
      config,
      running,
      over,
      startedAtMs: this.#clock.now(),
      ended: running
        .wait(over.signal)
        .catch(lost)
        .then((result) => {
          entry.result = result;
          entry.completedAtMs = this.#clock.now();
          return result;
        }),
    };
    this.#tasks.set(config.id, entry);
  }

  #task(taskId: string): Entry {
    const entry = this.#tasks.get(taskId);
    if (entry === undefined) throw new TaskNotFoundError(taskId);
    return entry;
  }
}

/**
 * Makes a driver out of the few things that differ between drivers. Everything else follows the rules that a stock agent
 * relies on: one result per task for any number of waiters, kept until it is destroyed; recovery of known tasks succeeds; unknown ids fail with
 * `TaskNotFoundError`; statistics that are not offered cost nothing; a failed recovery leaves no process behind.
 * @public
 */
export function defineDriver<
  Task extends BlockSchema,
  State,
  Config extends BlockSchema = Block<Readonly<Record<never, never>>>,
>(definition: DriverDefinition<Config, Task, State>, o: DefineDriverOptions = {}): DriverPlugin {
  return new DefinedDriver(
    definition as unknown as DriverDefinition<BlockSchema, BlockSchema, unknown>,
    o.clock ?? systemClock,
  );
}
