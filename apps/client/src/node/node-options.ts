import type { AllocRunner, AllocRunnerConfig, HookObserver } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { Node } from "@outrider/nomad-structs";
import type { DriverManager } from "../driver/driver-manager.ts";
import type { StateStore } from "../state/index.ts";
import type { ClientGcLimits } from "./client-gc.ts";
import type { ServerLink } from "./server-link.ts";

/** Builds the runner of an allocation: the composition root adds drivers, logs and the like to the common part. */
export type BuildRunner = (
  config: AllocRunnerConfig<AllocDir>,
) => AllocRunner<AllocDir> | Promise<AllocRunner<AllocDir>>;

/** Options of {@link createNodeClient}. */
export interface NodeClientOptions {
  /** The fingerprinted node. */
  readonly node: Node;
  readonly link: ServerLink;
  readonly state: StateStore;
  readonly buildRunner: BuildRunner;
  readonly drivers: Pick<DriverManager, "start" | "onChange" | "onTaskEvent" | "names">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly allocRoot: string;
  /** Telemetry of hooks with complete labels for a namespace; there before anything is restored. */
  readonly telemetry?: (namespace: string) => HookObserver;
  readonly gc?: ClientGcLimits;
  /** Called when nothing of an allocation is left. */
  readonly onRemoved?: (allocId: string) => void;
  /** Called after each change of allocations and of the node. */
  readonly onChange?: () => void;
}
