import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { CgroupMounts } from "./cgroup-mounts.ts";
import type { HostTools } from "./host-tools.ts";
import type { ShimSpawner } from "./shim-spawner.ts";
import type { TaskStore } from "./task-store.ts";

/** The part of the log collector that the supervisor uses. */
export interface LogDrain {
  drain(fifos: readonly string[], timeoutMs?: number): Promise<boolean>;
  descriptor(fifo: string): number | undefined;
}

/** What a supervisor needs. */
export interface SupervisorOptions {
  readonly store: TaskStore;
  readonly tools: HostTools;
  readonly cgroups: CgroupMounts;
  readonly logs: LogDrain;
  readonly spawner: ShimSpawner;
  readonly bootId: string;
  readonly clock: Clock;
  readonly logger: Logger;
}
