import type { AllocRunnerConfig, TaskHook } from "@outrider/alloc-runner";
import type { AllocDir, TaskDir } from "@outrider/allocdir-interface";
import type { Allocation, Node } from "@outrider/nomad-structs";
import type { ServiceRegistrar } from "../alloc/services/service-registrar.ts";
import type { StartTurns } from "../alloc/start-turns.ts";
import type { DriverManager } from "../driver/driver-manager.ts";
import type { CollectedOutput } from "../logs/log-collector-client.ts";
import type { DriverConfigEncoder } from "./driver/config-encoder.ts";
import type { VariableSource } from "./template/variable-source.ts";

/** Reads the log fifos of tasks into rotated files; lives in the driver's process. Both calls are idempotent. */
export interface LogCollectorPort {
  /** Makes the fifos and opens their read ends. */
  start(collection: CollectedOutput, signal: AbortSignal): Promise<void>;
  /** Collects what is left and ends; never waits for a writer. */
  stop(id: string): Promise<void>;
}

/** Counts what happens to tasks (`client.allocs.…`). */
export interface TaskCounters {
  count(what: "running" | "complete" | "failed" | "restart" | "oom_killed", task: string): void;
}

/** What the client's runner needs beyond the common part. */
export interface ClientAllocRunnerConfig extends AllocRunnerConfig<AllocDir> {
  readonly drivers: Pick<DriverManager, "dispense">;
  /** Encodes a job's `config` block by the driver's schema; throws with the text for the user. */
  readonly encodeDriverConfig: DriverConfigEncoder;
  readonly logCollector: LogCollectorPort;
  readonly newAllocDir: (alloc: Allocation) => AllocDir;
  /** The node as it is now. */
  readonly node: () => Node;
  readonly region: string;
  /** Variables of the agent's own process that tasks may inherit; the deny list is applied here. */
  readonly hostEnv?: Readonly<Record<string, string>>;
  /** `env.denylist`; default {@link HOST_ENV_DENYLIST}. */
  readonly hostEnvDenylist?: readonly string[];
  readonly limits: { readonly maxKillTimeoutMs: number };
  /** Usage of tasks: sampled unless `collect` is false; `publish` is about metrics. */
  readonly stats: { readonly publish: boolean; readonly intervalMs: number; readonly collect?: boolean };
  readonly counters?: TaskCounters;
  /** Who starts when many do; without it all at once. */
  readonly startTurns?: StartTurns;
  /** Variables that templates may read; without them templates that do so wait. */
  readonly variables?: VariableSource;
  /** Where services of provider `nomad` are listed. */
  readonly services?: ServiceRegistrar;
  /** A paused task's deployment clock stands still. Default false. */
  readonly pausedIsHealthy?: boolean;
  /** Waits for `shutdown_delay` also when a window closes. Default false. */
  readonly honorShutdownDelayOnPause?: boolean;
  readonly extraTaskHooks?: (task: string) => readonly TaskHook<TaskDir>[];
}
