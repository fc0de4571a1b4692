export type { AllocHook, HookEnv } from "./alloc-hook.ts";
export type {
  AllocRunnerConfig,
  AllocRunnerFactory,
  AllocStateBatch,
  AllocStatePersist,
  AllocStateUpdater,
  HookObserver,
  MigrationOutcome,
  PreviousAllocs,
} from "./alloc-runner-config.ts";
export type { AllocRunner, AllocStatsReporter } from "./alloc-runner.ts";
export type { AckState, AllocState, AllocUpdate } from "./alloc-state.ts";
export { createBroadcaster, type Broadcaster, type BroadcastListener } from "./broadcaster.ts";
export {
  DEFAULT_BATCH_MS,
  DEFAULT_SETUP,
  DEFAULT_START_MS,
  DEFAULT_STOP_MS,
  type SimulatedRunnerOptions,
  type SimulatedStep,
} from "./simulated/simulated-options.ts";
export { simulatedRunnerFactory } from "./simulated/simulated-runner.ts";
export { createLatch, type Latch } from "./latch.ts";
export { isPauseRequest, type PauseRequest } from "./pause-state.ts";
export type {
  DriverEvent,
  DriverEventHandler,
  StreamChunk,
  TaskExecHandler,
  TaskExecInput,
  TaskExecOutput,
} from "./task-access.ts";
export type { TaskEventCarrier, TaskEventInput } from "./task-event-input.ts";
export type { TaskHook, TaskPoststartRequest, TaskPrestartRequest, TaskPrestartResult } from "./task-hook.ts";
export { updatePriority, type UpdatePriority } from "./update-priority.ts";
