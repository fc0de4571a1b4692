import type {
  Allocation,
  DriverDevice,
  DriverMount,
  DriverNetwork,
  Task,
  TaskResourceUsage,
} from "@outrider/nomad-structs";
import type { HookEnv } from "./alloc-hook.ts";
import type { TaskExecHandler } from "./task-access.ts";
import type { TaskEventInput } from "./task-event-input.ts";

/** What a prestart hook is told. @public */
export interface TaskPrestartRequest<TaskDir = unknown> {
  readonly alloc: Allocation;
  readonly task: Task;
  readonly taskDir: TaskDir;
  readonly env: HookEnv;
  /** What the hook returned as `state` last time, also before a restart of the client. */
  readonly previousState: Readonly<Record<string, string>>;
  /** What the hooks before this one want mounted. */
  readonly mounts: readonly DriverMount[];
  readonly devices: readonly DriverDevice[];
  /** Adds an event to the task. */
  readonly emit: (event: TaskEventInput) => void;
}

/** What a prestart hook gives. @public */
export interface TaskPrestartResult {
  /** Added to the task's environment; kept, and applied again when the hook is done. */
  readonly env?: Readonly<Record<string, string>>;
  /** Replaces the list of mounts: start from the request's. */
  readonly mounts?: readonly DriverMount[];
  readonly devices?: readonly DriverDevice[];
  /** Handed back next time. */
  readonly state?: Readonly<Record<string, string>>;
  /** Never call this hook's prestart again for this task, also after a restart. `env`, `mounts` and `devices` stay in force. */
  readonly done?: boolean;
}

/** What a poststart hook is told. @public */
export interface TaskPoststartRequest {
  readonly env: HookEnv;
  /** Samples of the running task, for as long as `signal` is not aborted. */
  readonly stats: (signal: AbortSignal, intervalMs: number) => AsyncIterable<TaskResourceUsage>;
  readonly exec: TaskExecHandler;
  /** An address that the driver gave the task. */
  readonly network?: DriverNetwork;
}

/**
 * Work around the life of a task. Everything but the name is optional; the order of hooks is the order of their list.
 * @public
 */
export interface TaskHook<TaskDir = unknown> {
  readonly name: string;
  /** Before each start. The signal is aborted by a kill and by a shutdown. A failure goes to the restart policy with its `recoverable`. */
  prestart?(
    request: TaskPrestartRequest<TaskDir>,
    signal: AbortSignal,
  ): Promise<TaskPrestartResult | void> | TaskPrestartResult | void;
  /** After each start. Failures are shown as events only. */
  poststart?(request: TaskPoststartRequest): Promise<void> | void;
  /** Before the task is stopped or restarted. */
  preKilling?(): Promise<void> | void;
  /** After each end of the task. */
  exited?(): Promise<void> | void;
  /** A new server version; one call at a time, older pending ones are left out. */
  update?(request: { readonly alloc: Allocation; readonly env: HookEnv }): Promise<void> | void;
  /** Once, when the task will not run again; also without any prestart before. Idempotent. Not at a shutdown. */
  stop?(request: {
    readonly previousState: Readonly<Record<string, string>>;
    readonly taskDir: TaskDir;
  }): Promise<void> | void;
  /** The client process is about to exit; the task lives on. */
  shutdown?(): Promise<void> | void;
}
