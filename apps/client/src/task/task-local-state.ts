import type { DriverDevice, DriverMount, DriverNetwork } from "@outrider/nomad-structs";
import type { StoredHandle } from "./driver/stored-handle.ts";
import type { RestartCount } from "./restart-tracker.ts";

/** What is kept of one hook between its calls, also over restarts of the agent. */
export interface HookRecord {
  readonly done: boolean;
  readonly state: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** Lists that the hook put in force; undefined when it left them alone. */
  readonly mounts?: readonly DriverMount[] | undefined;
  readonly devices?: readonly DriverDevice[] | undefined;
}

/** What the agent alone knows of a task; plain JSON, kept under `local_state`. Never changed in place. */
export interface TaskLocalState {
  readonly hooks: Readonly<Record<string, HookRecord>>;
  /** The started task. */
  readonly handle?: StoredHandle;
  readonly network?: DriverNetwork;
  /** A start that was asked for but not yet answered: the task may or may not exist. */
  readonly starting?: StoredHandle;
  /** Id of an ended task whose result has been dealt with: its driver may forget it. */
  readonly ended?: string;
  readonly restart?: RestartCount;
  /** A restart that is being waited for; the length bounds the wait should the wall clock jump. */
  readonly pendingRestart?: { readonly atMs: number; readonly delayMs: number };
  /** The task will not run again and its stop hooks are due or done. */
  readonly runComplete?: boolean;
}

/** The state of a task that has done nothing yet. */
export const EMPTY_LOCAL_STATE: TaskLocalState = Object.freeze({ hooks: {} });
