/** What a driver author writes: the start and the recovery of a task, and the task itself. */
import type {
  DriverFingerprint,
  DriverNetwork,
  DriverTaskEvent,
  ExitResult,
  TaskResourceUsage,
} from "@outrider/nomad-structs";
import type {
  Capabilities,
  ExecInput,
  ExecOutput,
  ExecRequest,
  ExecResult,
  NomadDriverConfig,
  TaskConfig,
} from "../contract/driver.ts";
import type { HclSpec } from "../contract/hclspec.ts";
import type { ProcessIdentity } from "../process/process-identity.ts";

/** A block of any shape, such as `schema.object({ … })` gives. @public */
export interface BlockSchema {
  spec(name?: string): HclSpec;
  read(value: unknown): unknown;
}
/** What a block is read as. @public */
export type Decoded<B> = B extends { read(value: unknown): infer T } ? T : never;

/** A task that runs or has run. @public */
export interface RunningTask<State> {
  /** Kept by the agent and given to `recover` after a restart of the plugin. Plain JSON. */
  readonly state: State;
  /**
   * The task's first process. Its identity is kept with the state, so that a failing recovery can end it and never a stranger with
   * the same number.
   */
  readonly pid?: number;
  /** An address that replaces the host's. */
  readonly network?: DriverNetwork;
  /** Called once; resolves with the end of the task, also when it is over already. */
  wait(signal: AbortSignal): Promise<ExitResult>;
  /** `signalName` "" = the driver's own choice; `timeoutMs` 0 = kill at once. Resolves when the task is gone. */
  stop(timeoutMs: number, signalName: string): Promise<void>;
  /** Frees what is left after the end. */
  destroy?(): Promise<void>;
  signal?(signalName: string): Promise<void>;
  /** Without it the agent sees no statistics, and no errors either. */
  stats?(intervalMs: number, signal: AbortSignal): AsyncIterable<TaskResourceUsage>;
  exec?(command: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<ExecResult>;
  execStreaming?(request: ExecRequest, input: AsyncIterable<ExecInput>, signal: AbortSignal): AsyncIterable<ExecOutput>;
  /** Shown by inspection. */
  attributes?(): Readonly<Record<string, string>>;
}

/** What is known of a task from before a restart of the plugin. @public */
export interface RecoveredTask<State> {
  /** As it was started, but with an empty `msgpackDriverConfig` after a restart of the agent. */
  readonly config: TaskConfig;
  readonly state: State;
  readonly process: ProcessIdentity | undefined;
  /** Whether that very process still runs. */
  readonly alive: boolean;
}

/** A driver as its author describes it. @public */
export interface DriverDefinition<Config extends BlockSchema, Task extends BlockSchema, State> {
  /** As jobs name it: `driver = "<name>"`. */
  readonly name: string;
  /** A semantic version. */
  readonly version: string;
  /** The agent's `plugin "<file>" { config { … } }` block. */
  readonly config?: Config;
  /** The job's `config { … }` block. */
  readonly taskConfig: Task;
  /** Default: signals and exec as the tasks offer them, host network, no isolation. */
  readonly capabilities?: Partial<Capabilities>;
  /** Called several times; must be cheap. `nomad` is absent while the agent only validates. */
  configure?(config: Decoded<Config>, nomad: NomadDriverConfig | undefined): void | Promise<void>;
  /** Default: healthy. Asked at once and every 30 s. */
  fingerprint?(): Partial<DriverFingerprint> | Promise<Partial<DriverFingerprint>>;
  start(config: TaskConfig, driver: Decoded<Task>, signal: AbortSignal): Promise<RunningTask<State>>;
  /** Finds a task again, running or ended. A failure ends its process and lets the agent start it anew. */
  recover(task: RecoveredTask<State>, signal: AbortSignal): Promise<RunningTask<State>>;
  /** Events for the user. */
  events?(signal: AbortSignal): AsyncIterable<DriverTaskEvent>;
  init?(): Promise<void>;
  /** The agent goes away; tasks must live on. */
  shutdown?(): Promise<void>;
}
