import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { Allocation } from "@outrider/nomad-structs";
import type { AllocHook } from "./alloc-hook.ts";
import type { AllocRunner } from "./alloc-runner.ts";
import type { AllocUpdate } from "./alloc-state.ts";
import type { TaskHook } from "./task-hook.ts";

/** One change set of {@link AllocStatePersist}: all of it is durable, or none. @public */
export interface AllocStateBatch {
  readonly put?: Readonly<Record<string, unknown>>;
  readonly delete?: readonly string[];
  readonly deletePrefix?: readonly string[];
  /** Set for ends of tasks: a store may spend its last reserve of disk on them. */
  readonly urgent?: boolean;
}

/**
 * Where a runner keeps its state: small JSON values below `allocations/<alloc id>/`. A write resolves when it is durable.
 * @public
 */
export interface AllocStatePersist {
  get<T>(key: string): T | undefined;
  list<T>(prefix: string): Array<[key: string, value: T]>;
  write(batch: AllocStateBatch): Promise<void>;
}

/** Where a runner reports. @public */
export interface AllocStateUpdater {
  /** Never blocks, never throws; gets a deep copy each time. */
  allocStateUpdated(update: AllocUpdate): void;
}

/** Whether a disk was taken over, in a sentence for the user as well. @public */
export interface MigrationOutcome {
  readonly migrated: boolean;
  readonly text: string;
}

/** A previous allocation to wait for, and perhaps to take the disk from. @public */
export interface PreviousAllocs<Dir = unknown> {
  /** Resolves when the previous allocation (and preempted ones) have ended, or cannot be asked any more. */
  wait(signal: AbortSignal): Promise<void>;
  isWaiting(): boolean;
  /** Moves or copies the previous allocation's disk into `destination`. Gives nothing when no disk was to be taken over. */
  migrate?(destination: Dir, signal: AbortSignal): Promise<MigrationOutcome | undefined>;
  isMigrating?(): boolean;
}

/** Counts and times hooks; `@outrider/hook-telemetry` is one. @public */
export interface HookObserver {
  /** Runs `fn` and passes its result or failure on. `kind` is the name of the hook method. */
  time<T>(hookName: string, kind: string, fn: () => T): T;
}

/**
 * What every runner gets. A client's own runner extends it with what it needs beyond.
 * @public
 */
export interface AllocRunnerConfig<Dir = unknown> {
  readonly alloc: Allocation;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Uniform in [0, 1); for jitter. */
  readonly random?: () => number;
  readonly state: AllocStatePersist;
  readonly stateUpdater: AllocStateUpdater;
  readonly prevAllocs?: PreviousAllocs<Dir>;
  /** Set for restored allocations only: resolves when a server was reached, so that old work is not started again. */
  readonly serversContacted?: Promise<void>;
  readonly telemetry?: HookObserver;
  /** Run after the built-in ones, in this order. */
  readonly extraAllocHooks?: readonly AllocHook[];
  readonly extraTaskHooks?: (task: string) => readonly TaskHook[];
}

/**
 * Builds the runner of one allocation. It is a value of a client's configuration, so that a simulator or another implementation
 * can be put in its place. A failure makes the allocation invalid: it is reported as failed and never runs.
 * @public
 */
export type AllocRunnerFactory<Config extends AllocRunnerConfig = AllocRunnerConfig, Dir = unknown> = (
  config: Config,
) => AllocRunner<Dir> | Promise<AllocRunner<Dir>>;
