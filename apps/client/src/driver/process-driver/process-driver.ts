/** The built-in driver: plain processes of this machine, answering to Nomad's name for it, `raw_exec`. */
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
  isTaskNotFound,
  type PluginInfo,
  RecoverableError,
  type StartedTask,
  type TaskConfig,
  type TaskHandle,
  TaskNotFoundError,
  type TaskResourceUsage,
} from "@outrider/plugin-driver";
import { Broadcast } from "./broadcast.ts";
import { asExecFailure, resolveCommand } from "./command.ts";
import type { ExecHost } from "./exec-process.ts";
import { execCollect, execStream } from "./task-exec.ts";
import { execOnTerminal } from "./terminal-exec.ts";
import { fingerprintOf, FINGERPRINT_MS } from "./fingerprint.ts";
import { procsFiles } from "./group.ts";
import { decodeHandle, encodeHandle, endHandle } from "./handle-state.ts";
import { bounds, planLaunch, taskUser, type LaunchHost } from "./launch-plan.ts";
import { DEFAULT_STOP_SIGNAL, signalNumber } from "./signals.ts";
import type { SpecInput } from "./spec.ts";
import { MARKER } from "./group.ts";
import type { TaskStats } from "./task-stats.ts";
import type { Supervisor } from "./supervisor.ts";
import { type TaskRecord, unlessAborted } from "./task-record.ts";
import { decodeSettings, TASK_SCHEMA } from "./task-settings.ts";

/** The name under which jobs ask for this driver. */
export const DRIVER_NAME = "raw_exec";
const DRIVER_VERSION = "0.1.0";

/** What the driver works with. How it is served is not its business. */
export interface ProcessDriverOptions {
  readonly supervisor: Supervisor;
  readonly host: LaunchHost;
  readonly stats: Pick<TaskStats, "stream">;
  /** Facts for the fingerprint beyond those of `host`. */
  readonly facts: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default {@link DRIVER_NAME}. */
  readonly name?: string;
}

/** The driver contract over a {@link Supervisor}. */
export class ProcessDriver implements DriverPlugin {
  readonly #options: ProcessDriverOptions;
  readonly #events = new Broadcast<DriverTaskEvent>();

  static readonly capabilities: Capabilities = {
    sendSignals: true,
    exec: true,
    fsIsolation: "none",
    networkIsolationModes: ["host", "group"],
    mustCreateNetwork: false,
    mountConfigs: "none",
    disableLogCollection: false,
    dynamicWorkloadUsers: false,
  };

  static infoOf(name: string): PluginInfo {
    return { name, type: "driver", version: DRIVER_VERSION, apiVersions: ["v0.1.0"] };
  }

  /** A stream that tells nothing and ends with the signal: this driver has no events of its own. */
  static noEvents(signal: AbortSignal): AsyncIterable<DriverTaskEvent> {
    return new Broadcast<DriverTaskEvent>().stream(signal);
  }

  constructor(options: ProcessDriverOptions) {
    this.#options = options;
  }

  get #name(): string {
    return this.#options.name ?? DRIVER_NAME;
  }

  async info(): Promise<PluginInfo> {
    return ProcessDriver.infoOf(this.#name);
  }

  async configSchema(): Promise<HclSpec> {
    return { kind: "object", attributes: {} };
  }

  async setConfig(): Promise<void> {
    // nothing can be set
  }

  async taskConfigSchema(): Promise<HclSpec> {
    return TASK_SCHEMA;
  }

  async capabilities(): Promise<Capabilities> {
    return ProcessDriver.capabilities;
  }

  async *fingerprint(signal: AbortSignal): AsyncGenerator<Fingerprint> {
    while (!signal.aborted) {
      yield fingerprintOf(this.#options.host, this.#options.facts, this.#name);
      try {
        await sleep(FINGERPRINT_MS, { clock: this.#options.clock, signal, ref: false });
      } catch {
        return;
      }
    }
  }

  async startTask(config: TaskConfig, signal?: AbortSignal): Promise<StartedTask> {
    const { supervisor, host } = this.#options;
    const known = supervisor.find(config.id);
    if (known !== undefined && (await hasStarted(known, signal))) {
      known.config ??= config;
      return { handle: this.#handle(known, config) };
    }
    const command = await planLaunch(config, host, signal);
    try {
      return { handle: this.#handle(await supervisor.start({ config, command }), config) };
    } catch (reason) {
      throw asStartFailure(reason);
    }
  }

  async recoverTask(handle: TaskHandle, signal?: AbortSignal): Promise<void> {
    const { supervisor, clock, logger } = this.#options;
    const { id } = handle.config;
    const record = supervisor.find(id);
    if (record !== undefined) {
      record.config = handle.config;
      await unlessAborted(record.started.promise, signal);
      return;
    }
    // forgotten here: what the handle points to must not run on beside a new start
    const state = decodeHandle(handle.driverState);
    if (state !== undefined) await endHandle(state, id, clock, logger);
    throw new TaskNotFoundError(id);
  }

  async waitTask(taskId: string, signal?: AbortSignal): Promise<ExitResult> {
    return this.#options.supervisor.get(taskId).wait(signal);
  }

  async stopTask(taskId: string, timeoutMs: number, signalName: string, signal?: AbortSignal): Promise<void> {
    const number = signalNumber(signalName === "" ? DEFAULT_STOP_SIGNAL : signalName);
    const { supervisor } = this.#options;
    await supervisor.stop(supervisor.get(taskId), number, timeoutMs, signal);
  }

  async destroyTask(taskId: string, force: boolean, signal?: AbortSignal): Promise<void> {
    const { supervisor } = this.#options;
    const record = supervisor.get(taskId);
    if (!record.hasEnded) {
      if (!force) throw new RecoverableError(`task ${taskId} is running and cannot be destroyed`, false);
      await supervisor.stop(record, 0, 0, signal);
    }
    supervisor.forget(record);
  }

  async inspectTask(taskId: string): Promise<InspectedTask> {
    const { meta, result, task } = this.#options.supervisor.get(taskId);
    return {
      status: {
        id: meta.id,
        name: meta.name,
        state: result === undefined ? "running" : "exited",
        startedAtMs: meta.startedAtMs,
        ...(result === undefined
          ? {}
          : {
              completedAtMs: result.completedAtMs,
              exitResult: { exitCode: result.exitCode, signal: result.signal, oomKilled: result.oomKilled },
            }),
        attributes: { pid: String(task?.pid ?? 0) },
      },
    };
  }

  taskStats(taskId: string, intervalMs: number, signal: AbortSignal): AsyncIterable<TaskResourceUsage> {
    const { stats, supervisor } = this.#options;
    return stats.stream(supervisor.get(taskId), intervalMs, signal);
  }

  taskEvents(signal: AbortSignal): AsyncIterable<DriverTaskEvent> {
    return this.#events.stream(signal);
  }

  async signalTask(taskId: string, signalName: string): Promise<void> {
    const number = signalNumber(signalName);
    const record = this.#options.supervisor.get(taskId);
    if (!this.#options.supervisor.signal(record, number)) {
      throw new RecoverableError(`task ${taskId} is not running`, false);
    }
  }

  async execTask(
    taskId: string,
    command: readonly string[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<ExecResult> {
    const input = await this.#execInput(taskId, command, signal);
    return execCollect(input, timeoutMs, this.#execHost(), signal);
  }

  async *execTaskStreaming(
    taskId: string,
    { command, tty }: ExecRequest,
    frames: AsyncIterable<ExecInput>,
    signal: AbortSignal,
  ): AsyncGenerator<ExecOutput> {
    const run = tty ? execOnTerminal : execStream;
    yield* run(await this.#execInput(taskId, command, signal), frames, this.#execHost(), signal);
  }

  async #execInput(taskId: string, command: readonly string[], signal?: AbortSignal): Promise<SpecInput> {
    const { host, supervisor } = this.#options;
    const { config, meta, hasEnded } = supervisor.get(taskId);
    const [name, ...args] = command;
    if (name === undefined || name === "") throw new RecoverableError("exec: empty command", false);
    if (hasEnded) throw new RecoverableError(`task ${taskId} is not running`, false);
    if (config === undefined) throw new RecoverableError(`task ${taskId} has not been recovered yet`, true);
    const user = await taskUser(config.user, host.tools, signal);
    const env: Record<string, string> = { ...config.env, ...config.deviceEnv, [MARKER]: taskId };
    return {
      cgroupProcs: procsFiles(meta.group),
      workDir: meta.workDir,
      ...bounds(decodeSettings(config.msgpackDriverConfig), host.tools),
      env: user === undefined ? env : { ...env, HOME: user.home, USER: user.name, LOGNAME: user.name },
      ...(user === undefined ? {} : { user }),
      program: programOf(name, config, env["PATH"] ?? host.searchPath),
      args,
    };
  }

  #execHost(): ExecHost {
    const { host, clock, supervisor } = this.#options;
    return { tools: host.tools, folder: supervisor.options.store.folder, clock };
  }

  #handle(record: TaskRecord, config: TaskConfig): TaskHandle {
    return { version: 1, config, state: "running", driverState: encodeHandle(record) };
  }
}

function programOf(name: string, { allocDir, name: task }: TaskConfig, searchPath: string): string {
  try {
    return resolveCommand(name, `${allocDir}/${task}`, searchPath);
  } catch (reason) {
    throw asExecFailure(reason);
  }
}

/** False: an earlier driver prepared it and died, and it turned out that nothing ran. */
async function hasStarted(record: TaskRecord, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await unlessAborted(record.started.promise, signal);
    return true;
  } catch (reason) {
    if (isTaskNotFound(reason)) return false;
    throw reason;
  }
}

function asStartFailure(reason: unknown): Error {
  if (reason instanceof RecoverableError || reason instanceof TaskNotFoundError) return reason;
  const text = reason instanceof Error ? reason.message : String(reason);
  return new RecoverableError(`failed to launch command: ${text}`, true, { cause: reason });
}
