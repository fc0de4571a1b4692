import type { TaskEventInput } from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import type { Logger } from "@outrider/foundation";
import type { Allocation, DNSConfig, Task } from "@outrider/nomad-structs";
import type { Capabilities, HclSpec } from "@outrider/plugin-driver";
import type { AllocServices } from "../alloc/services/alloc-services.ts";
import type { DriverTask } from "./driver/driver-task.ts";
import type { TaskEnvBuilder } from "./env/task-env-builder.ts";
import type { RunSignals } from "./kill-signals.ts";
import type { PauseController } from "./pause/pause-controller.ts";
import type { ClientAllocRunnerConfig } from "./ports.ts";
import type { RestartTracker } from "./restart-tracker.ts";
import type { TaskHookRunner } from "./task-hook-runner.ts";
import type { TaskRecord } from "./task-record.ts";
import type { TaskStarter } from "./task-starter.ts";

/** What a driver says of itself. */
export interface DriverFacts {
  readonly schema: HclSpec;
  readonly capabilities: Capabilities;
}

/** What hooks may ask of their own task. Both reject with `Task not running` when it does not. */
export interface TaskControl {
  /** `failure`: counts against the restart policy. Resolves when the task has ended. */
  restart(event: TaskEventInput, o?: { readonly failure?: boolean }): Promise<void>;
  signal(name: string, reason?: string): Promise<void>;
  isRunning(): boolean;
}

/** What a task runner is made of from outside. */
export interface TaskRunnerParts {
  readonly config: ClientAllocRunnerConfig;
  readonly alloc: Allocation;
  readonly task: Task;
  readonly record: TaskRecord;
  readonly taskDir: TaskDir;
  readonly env: TaskEnvBuilder;
  readonly logger: Logger;
  /** Waits for the task's driver and asks it. */
  readonly driverFacts: (signal: AbortSignal) => Promise<DriverFacts>;
  /** Waits until the lifecycle lets the task start. */
  readonly gate: (signal: AbortSignal) => Promise<void>;
  /** Aborted when the server asks to skip shutdown delays. */
  readonly skipShutdownDelay: AbortSignal;
  /** The allocation's services; undefined where none can be registered. */
  readonly services: AllocServices | undefined;
  /** Name servers of the allocation's own network. */
  readonly networkDns: () => DNSConfig | null;
}

/** What the parts of one task runner share. */
export interface TaskContext extends Omit<TaskRunnerParts, "alloc" | "task"> {
  alloc: Allocation;
  task: Task;
  readonly signals: RunSignals;
  readonly tracker: RestartTracker;
  readonly starter: TaskStarter;
  readonly pause: PauseController;
  readonly hooks: TaskHookRunner;
  readonly control: TaskControl;
  /** Known once the driver has come up. */
  driver: DriverFacts | undefined;
  /** The started task, until its end has been dealt with. */
  live: DriverTask | undefined;
}
