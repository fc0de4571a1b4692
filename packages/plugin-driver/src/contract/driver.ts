/** The driver contract: what a driver author implements, and what a host hands out for any driver. */
import type {
  DriverCapabilities,
  DriverFingerprint,
  DriverNetwork,
  DriverTaskConfig,
  DriverTaskEvent,
  DriverTaskHandle,
  DriverTaskStatus,
  ExitResult,
  NetworkIsolationSpec,
  TaskResourceUsage,
  TerminalSize,
} from "@outrider/nomad-structs";
import type { HclSpec } from "./hclspec.ts";

/** Everything a driver is told about a task it starts. @public */
export type TaskConfig = DriverTaskConfig;
/** What a driver returns for a started task and needs to find it again. @public */
export type TaskHandle = DriverTaskHandle;
/** What a driver can do. @public */
export type Capabilities = DriverCapabilities;
/** One report of a driver about itself. @public */
export type Fingerprint = DriverFingerprint;
/** State of one task, for inspection. @public */
export type TaskStatus = DriverTaskStatus;

/**
 * Who a plugin says it is.
 * @public
 */
export interface PluginInfo {
  /** The name that jobs use as `driver = "…"`. */
  readonly name: string;
  readonly type: "driver" | "device" | "unknown";
  /** A semantic version such as `1.2.3`; Nomad refuses anything else. */
  readonly version: string;
  /** Versions of the driver API; today there is one, `v0.1.0`. */
  readonly apiVersions: readonly string[];
}

/**
 * One core of the node.
 * @public
 */
export interface TopologyCore {
  readonly socketId: number;
  readonly nodeId: number;
  readonly coreId: number;
  readonly grade: "performance" | "efficiency";
  readonly disable: boolean;
  readonly baseSpeedMhz: number;
  readonly maxSpeedMhz: number;
  readonly guessSpeedMhz: number;
}

/**
 * Processors of the node. Every part may be empty on a machine without NUMA.
 * @public
 */
export interface NodeTopology {
  readonly nodeIds: readonly number[];
  readonly distances?: { readonly dimension: number; readonly values: readonly number[] };
  readonly cores: readonly TopologyCore[];
  readonly overrideTotalCompute: number;
  readonly overrideWithheldCompute: number;
}

/**
 * What the agent tells every driver about itself.
 * @public
 */
export interface NomadDriverConfig {
  readonly clientMinPort: number;
  readonly clientMaxPort: number;
  readonly topology?: NodeTopology;
}

/**
 * Result of a command that ran inside a task.
 * @public
 */
export interface ExecResult {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitResult: ExitResult;
}

/**
 * A piece of an exec stream: data, the end of that stream, or both.
 * @public
 */
export interface ExecChunk {
  readonly data?: Uint8Array;
  readonly close?: boolean;
}

/**
 * From the user's terminal to the command. An empty frame is a heartbeat.
 * @public
 */
export interface ExecInput {
  readonly stdin?: ExecChunk;
  readonly ttySize?: TerminalSize;
}

/**
 * From the command to the user's terminal. The frame with `exited` comes last.
 * @public
 */
export interface ExecOutput {
  readonly stdout?: ExecChunk;
  readonly stderr?: ExecChunk;
  readonly exited?: ExitResult;
}

/**
 * What to run in an interactive exec.
 * @public
 */
export interface ExecRequest {
  readonly command: readonly string[];
  readonly tty: boolean;
}

/**
 * Answer of `startTask`.
 * @public
 */
export interface StartedTask {
  readonly handle: TaskHandle;
  readonly network?: DriverNetwork;
}

/**
 * Answer of `inspectTask`.
 * @public
 */
export interface InspectedTask {
  readonly status: TaskStatus;
  readonly network?: DriverNetwork;
}

/**
 * A task driver: the same interface on both sides of the plugin border.
 *
 * Errors: `TaskNotFoundError` for an unknown id, `RecoverableError` from `startTask` and `taskStats` when a later try may work;
 * on the host side also `PluginShutdownError` and `PluginProtocolError`. An aborted `signal` rejects with its reason.
 * @public
 */
export interface DriverPlugin {
  info(signal?: AbortSignal): Promise<PluginInfo>;
  /** Schema of the agent's `plugin "<name>" { config { … } }` block. */
  configSchema(signal?: AbortSignal): Promise<HclSpec | undefined>;
  /** Called several times per process, also without `nomad`; empty bytes mean "no config". Must be cheap and idempotent. */
  setConfig(config: Uint8Array, nomad?: NomadDriverConfig, signal?: AbortSignal): Promise<void>;
  /** Called after every launch and every reattach (Nomad 2.0.4 and later). */
  init?(signal?: AbortSignal): Promise<void>;
  /** The agent goes away in an orderly way; tasks must live on. */
  shutdown?(signal?: AbortSignal): Promise<void>;
  /** Schema of a task's `config` block. */
  taskConfigSchema(signal?: AbortSignal): Promise<HclSpec>;
  capabilities(signal?: AbortSignal): Promise<Capabilities>;
  /** The first value at once, then on change or every 30 s; ends only by `signal`. */
  fingerprint(signal: AbortSignal): AsyncIterable<Fingerprint>;
  /** Idempotent: a known id is a success. After a failure no process of that handle may be left running. */
  recoverTask(handle: TaskHandle, signal?: AbortSignal): Promise<void>;
  /**
   * Ends the processes that a handle names, after checking that they are still those. Called by the plugin side when
   * `recoverTask` has failed, so that the agent's next start makes no second copy.
   */
  killLeftovers?(handle: TaskHandle): Promise<void>;
  startTask(config: TaskConfig, signal?: AbortSignal): Promise<StartedTask>;
  /** Resolves when the task has ended, for every caller, until `destroyTask`. */
  waitTask(taskId: string, signal?: AbortSignal): Promise<ExitResult>;
  /** `signalName` "" = the driver's default; `timeoutMs` 0 = kill at once. Resolves when the task is gone. */
  stopTask(taskId: string, timeoutMs: number, signalName: string, signal?: AbortSignal): Promise<void>;
  destroyTask(taskId: string, force: boolean, signal?: AbortSignal): Promise<void>;
  inspectTask(taskId: string, signal?: AbortSignal): Promise<InspectedTask>;
  /** The first sample at once, then one per interval, until the task ends. */
  taskStats(taskId: string, intervalMs: number, signal: AbortSignal): AsyncIterable<TaskResourceUsage>;
  /** Events of all tasks; ends only by `signal`. */
  taskEvents(signal: AbortSignal): AsyncIterable<DriverTaskEvent>;
  signalTask(taskId: string, signalName: string, signal?: AbortSignal): Promise<void>;
  /** `timeoutMs` 0 = no limit. */
  execTask(taskId: string, command: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<ExecResult>;
  execTaskStreaming?(
    taskId: string,
    request: ExecRequest,
    input: AsyncIterable<ExecInput>,
    signal: AbortSignal,
  ): AsyncIterable<ExecOutput>;
  /** Only for drivers with `mustCreateNetwork`. Idempotent. */
  createNetwork?(
    allocId: string,
    hostname: string,
    signal?: AbortSignal,
  ): Promise<{ readonly spec: NetworkIsolationSpec; readonly created: boolean }>;
  destroyNetwork?(allocId: string, spec: NetworkIsolationSpec, signal?: AbortSignal): Promise<void>;
}
