/** The driver contract spoken to a plugin over its channel. */
import { isOutriderError, noopLogger, type Logger } from "@outrider/foundation";
import type { DriverTaskEvent, ExitResult, NetworkIsolationSpec, TaskResourceUsage } from "@outrider/nomad-structs";
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
import { PluginProtocolError, RecoverableError } from "../contract/errors.ts";
import type { HclSpec } from "../contract/hclspec.ts";
import { BasePlugin } from "../gen/base_pb.js";
import { Driver, StartTaskResponse_Result as Result, type StartTaskResponse } from "../gen/driver_pb.js";
import { fromCapabilities, fromFingerprint, fromPluginInfo, fromTaskEvent, toNomadConfig } from "../wire/driver.ts";
import { toDuration } from "../wire/scalars.ts";
import { fromSpec } from "../wire/spec.ts";
import {
  fromExitResult,
  fromInspectResponse,
  fromNetworkOverride,
  fromNetworkSpec,
  fromTaskHandle,
  toNetworkSpec,
  toTaskConfig,
  toTaskHandle,
} from "../wire/task.ts";
import { fromTaskStats } from "../wire/usage.ts";
import { mapAsync } from "../wire/map-async.ts";
import { commonApiVersion } from "./api-version.ts";
import type { DriverChannel } from "./driver-channel.ts";
import { execStream } from "./exec-client.ts";
import type { CallTimeouts } from "./timeouts.ts";

/** A sample that cannot be read is told at most once in this time. */
const BAD_SAMPLE_LOG_MS = 60_000;

/** A driver at the other end of a channel. */
export class DriverClient implements DriverPlugin {
  protected readonly channel: DriverChannel;
  readonly #timeouts: CallTimeouts;
  readonly #logger: Logger;
  readonly #monotonic: () => number;
  /** Known after the first `info`. */
  #apiVersion: string | undefined;

  constructor(channel: DriverChannel, o: { timeouts: CallTimeouts; logger?: Logger; monotonic: () => number }) {
    this.channel = channel;
    this.#timeouts = o.timeouts;
    this.#logger = o.logger ?? noopLogger;
    this.#monotonic = o.monotonic;
  }

  #short(signal: AbortSignal | undefined): { signal: AbortSignal | undefined; timeoutMs: number } {
    return { signal, timeoutMs: this.#timeouts.shortMs };
  }

  #long(signal: AbortSignal | undefined): { signal: AbortSignal | undefined; timeoutMs: number } {
    return { signal, timeoutMs: this.#timeouts.longMs };
  }

  async info(signal?: AbortSignal): Promise<PluginInfo> {
    const info = fromPluginInfo(await this.channel.unary(BasePlugin.method.pluginInfo, {}, this.#short(signal)));
    this.#apiVersion = commonApiVersion(info);
    return info;
  }

  async configSchema(signal?: AbortSignal): Promise<HclSpec | undefined> {
    const { spec } = await this.channel.unary(BasePlugin.method.configSchema, {}, this.#short(signal));
    return spec === undefined ? undefined : fromSpec(spec);
  }

  async setConfig(config: Uint8Array, nomad?: NomadDriverConfig, signal?: AbortSignal): Promise<void> {
    this.#apiVersion ??= commonApiVersion(await this.info(signal)) ?? "";
    await this.channel.unary(
      BasePlugin.method.setConfig,
      {
        msgpackConfig: config,
        pluginApiVersion: this.#apiVersion,
        ...(nomad === undefined ? {} : { nomadConfig: toNomadConfig(nomad) }),
      },
      this.#short(signal),
    );
  }

  async init(signal?: AbortSignal): Promise<void> {
    try {
      await this.channel.unary(Driver.method.init, {}, this.#short(signal));
    } catch (reason) {
      // Drivers older than Nomad 2.0.4 know nothing of it.
      if (!isOutriderError(reason, "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED")) throw reason;
    }
  }

  async shutdown(signal?: AbortSignal): Promise<void> {
    try {
      await this.channel.unary(Driver.method.shutdown, {}, { signal, timeoutMs: this.#timeouts.shutdownMs });
    } catch (reason) {
      if (!isOutriderError(reason, "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED")) throw reason;
    }
  }

  async taskConfigSchema(signal?: AbortSignal): Promise<HclSpec> {
    const { spec } = await this.channel.unary(Driver.method.taskConfigSchema, {}, this.#short(signal));
    return fromSpec(spec, "task config schema");
  }

  async capabilities(signal?: AbortSignal): Promise<Capabilities> {
    const { capabilities } = await this.channel.unary(Driver.method.capabilities, {}, this.#short(signal));
    return fromCapabilities(capabilities);
  }

  fingerprint(signal: AbortSignal): AsyncIterable<Fingerprint> {
    return mapAsync(this.channel.serverStream(Driver.method.fingerprint, {}, signal), fromFingerprint);
  }

  async recoverTask(handle: TaskHandle, signal?: AbortSignal): Promise<void> {
    await this.channel.unary(
      Driver.method.recoverTask,
      { taskId: handle.config.id, handle: toTaskHandle(handle) },
      this.#long(signal),
    );
  }

  async startTask(config: TaskConfig, signal?: AbortSignal): Promise<StartedTask> {
    const answer = await this.channel.unary(Driver.method.startTask, { task: toTaskConfig(config) }, { signal });
    const handle = fromTaskHandle(answer.handle, [], config);
    if (answer.result === Result.SUCCESS && handle !== undefined) {
      const network = answer.networkOverride;
      return { handle, ...(network === undefined ? {} : { network: fromNetworkOverride(network) }) };
    }
    // Such a task could never be found again: end it now.
    await this.destroyTask(config.id, true, signal).catch((reason: unknown) => {
      this.#logger.debug({ err: reason, taskId: config.id }, "could not undo a failed start");
    });
    throw this.#startFailure(answer);
  }

  #startFailure(answer: StartTaskResponse): Error {
    if (answer.result === Result.SUCCESS)
      return new PluginProtocolError("start task: driver returned no usable handle");
    const text = answer.driverErrorMsg === "" ? "driver reported a failed start" : answer.driverErrorMsg;
    return new RecoverableError(text, answer.result === Result.RETRY);
  }

  async waitTask(taskId: string, signal?: AbortSignal): Promise<ExitResult> {
    const { result, err } = await this.channel.unary(Driver.method.waitTask, { taskId }, { signal });
    if (result !== undefined) return fromExitResult(result, err);
    if (err !== "") return { exitCode: -1, signal: 0, oomKilled: false, error: err };
    throw new PluginProtocolError("wait task: driver returned no result", { details: { taskId } });
  }

  async stopTask(taskId: string, timeoutMs: number, signalName: string, signal?: AbortSignal): Promise<void> {
    await this.channel.unary(
      Driver.method.stopTask,
      { taskId, timeout: toDuration(timeoutMs), signal: signalName },
      { signal, timeoutMs: timeoutMs + this.#timeouts.graceMs },
    );
  }

  async destroyTask(taskId: string, force: boolean, signal?: AbortSignal): Promise<void> {
    await this.channel.unary(Driver.method.destroyTask, { taskId, force }, this.#long(signal));
  }

  async inspectTask(taskId: string, signal?: AbortSignal): Promise<InspectedTask> {
    const answer = await this.channel.unary(Driver.method.inspectTask, { taskId }, this.#short(signal));
    const inspected = fromInspectResponse(answer);
    if (inspected === undefined) {
      throw new PluginProtocolError("inspect task: driver returned no task", { details: { taskId } });
    }
    return inspected;
  }

  taskStats(taskId: string, intervalMs: number, signal: AbortSignal): AsyncIterable<TaskResourceUsage> {
    let bad = 0;
    let toldAt = -Infinity;
    const request = { taskId, collectionInterval: toDuration(intervalMs) };
    return mapAsync(this.channel.serverStream(Driver.method.taskStats, request, signal), ({ stats }) => {
      const sample = fromTaskStats(stats);
      if (typeof sample !== "string") return sample;
      bad++;
      const now = this.#monotonic();
      if (now - toldAt >= BAD_SAMPLE_LOG_MS) {
        toldAt = now;
        this.#logger.warn({ taskId, reason: sample, skipped: bad }, "driver sent a sample that cannot be read");
      }
      return undefined;
    });
  }

  taskEvents(signal: AbortSignal): AsyncIterable<DriverTaskEvent> {
    return mapAsync(this.channel.serverStream(Driver.method.taskEvents, {}, signal), fromTaskEvent);
  }

  async signalTask(taskId: string, signalName: string, signal?: AbortSignal): Promise<void> {
    await this.channel.unary(Driver.method.signalTask, { taskId, signal: signalName }, this.#short(signal));
  }

  async execTask(
    taskId: string,
    command: readonly string[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<ExecResult> {
    const { stdout, stderr, result } = await this.channel.unary(
      Driver.method.execTask,
      { taskId, command: [...command], timeout: toDuration(timeoutMs) },
      { signal, ...(timeoutMs > 0 ? { timeoutMs: timeoutMs + this.#timeouts.graceMs } : {}) },
    );
    if (result === undefined) {
      throw new PluginProtocolError("exec task: driver returned no result", { details: { taskId } });
    }
    return { stdout, stderr, exitResult: fromExitResult(result) };
  }

  execTaskStreaming(
    taskId: string,
    request: ExecRequest,
    input: AsyncIterable<ExecInput>,
    signal: AbortSignal,
  ): AsyncIterable<ExecOutput> {
    return execStream(this.channel, taskId, request, input, signal);
  }

  async createNetwork(
    allocId: string,
    hostname: string,
    signal?: AbortSignal,
  ): Promise<{ readonly spec: NetworkIsolationSpec; readonly created: boolean }> {
    const answer = await this.channel.unary(Driver.method.createNetwork, { allocId, hostname }, this.#long(signal));
    if (answer.isolationSpec === undefined) {
      throw new PluginProtocolError("create network: driver returned no network", { details: { allocId } });
    }
    return { spec: fromNetworkSpec(answer.isolationSpec), created: answer.created };
  }

  async destroyNetwork(allocId: string, spec: NetworkIsolationSpec, signal?: AbortSignal): Promise<void> {
    const request = { allocId, isolationSpec: toNetworkSpec(spec) };
    await this.channel.unary(Driver.method.destroyNetwork, request, this.#long(signal));
  }
}
