/** The driver of the driver process, as the agent calls it. */
import type {
  Capabilities,
  DriverNetwork,
  DriverPlugin,
  DriverTaskEvent,
  ExecInput,
  ExecOutput,
  ExecRequest,
  ExecResult,
  ExitResult,
  Fingerprint,
  HclSpec,
  InspectedTask,
  PluginInfo,
  StartedTask,
  TaskConfig,
  TaskHandle,
  TaskResourceUsage,
} from "@outrider/plugin-driver";
import type { FrameClient, FrameCallOptions } from "./frame-client.ts";

/** Questions that are answered from memory. */
const SHORT_MS = 30_000;
/** Calls that wait for processes to be found or ended. */
const LONG_MS = 120_000;
/** Added to the time that a call carries itself. */
const GRACE_MS = 60_000;

/** Every method of the contract by one frame each way. */
export class RemoteDriver implements DriverPlugin {
  readonly #client: FrameClient;

  constructor(client: FrameClient) {
    this.#client = client;
  }

  async info(signal?: AbortSignal): Promise<PluginInfo> {
    return (await this.#call("info", [], { signal, timeoutMs: SHORT_MS })) as PluginInfo;
  }

  async configSchema(signal?: AbortSignal): Promise<HclSpec | undefined> {
    return (await this.#call("configSchema", [], { signal, timeoutMs: SHORT_MS })) as HclSpec | undefined;
  }

  async setConfig(): Promise<void> {
    // the built-in driver has nothing to set
  }

  async taskConfigSchema(signal?: AbortSignal): Promise<HclSpec> {
    return (await this.#call("taskConfigSchema", [], { signal, timeoutMs: SHORT_MS })) as HclSpec;
  }

  async capabilities(signal?: AbortSignal): Promise<Capabilities> {
    return (await this.#call("capabilities", [], { signal, timeoutMs: SHORT_MS })) as Capabilities;
  }

  fingerprint(signal: AbortSignal): AsyncIterable<Fingerprint> {
    return this.#client.stream("fingerprint", [], signal);
  }

  async recoverTask(handle: TaskHandle, signal?: AbortSignal): Promise<void> {
    await this.#call("recoverTask", [handle], { signal, timeoutMs: LONG_MS });
  }

  async startTask(config: TaskConfig, signal?: AbortSignal): Promise<StartedTask> {
    const answer = await this.#call("startTask", [config], { signal });
    const { network, ...rest } = answer as Omit<TaskHandle, "config"> & { network?: DriverNetwork };
    return { handle: { ...rest, config }, ...(network === undefined ? {} : { network }) };
  }

  async waitTask(taskId: string, signal?: AbortSignal): Promise<ExitResult> {
    return (await this.#call("waitTask", [taskId], { signal })) as ExitResult;
  }

  async stopTask(taskId: string, timeoutMs: number, signalName: string, signal?: AbortSignal): Promise<void> {
    await this.#call("stopTask", [taskId, timeoutMs, signalName], { signal, timeoutMs: timeoutMs + GRACE_MS });
  }

  async destroyTask(taskId: string, force: boolean, signal?: AbortSignal): Promise<void> {
    await this.#call("destroyTask", [taskId, force], { signal, timeoutMs: LONG_MS });
  }

  async inspectTask(taskId: string, signal?: AbortSignal): Promise<InspectedTask> {
    return (await this.#call("inspectTask", [taskId], { signal, timeoutMs: SHORT_MS })) as InspectedTask;
  }

  taskStats(taskId: string, intervalMs: number, signal: AbortSignal): AsyncIterable<TaskResourceUsage> {
    return this.#client.stream("taskStats", [taskId, intervalMs], signal);
  }

  taskEvents(signal: AbortSignal): AsyncIterable<DriverTaskEvent> {
    return this.#client.stream("taskEvents", [], signal);
  }

  async signalTask(taskId: string, signalName: string, signal?: AbortSignal): Promise<void> {
    await this.#call("signalTask", [taskId, signalName], { signal, timeoutMs: SHORT_MS });
  }

  async execTask(
    taskId: string,
    command: readonly string[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<ExecResult> {
    const limit = timeoutMs > 0 ? { timeoutMs: timeoutMs + GRACE_MS } : {};
    return (await this.#call("execTask", [taskId, command, timeoutMs], { signal, ...limit })) as ExecResult;
  }

  execTaskStreaming(
    taskId: string,
    request: ExecRequest,
    input: AsyncIterable<ExecInput>,
    signal: AbortSignal,
  ): AsyncIterable<ExecOutput> {
    return this.#client.stream("execTaskStreaming", [taskId, request], signal, input);
  }

  #call(method: string, args: readonly unknown[], o: FrameCallOptions): Promise<unknown> {
    return this.#client.call(method, args, o);
  }
}
