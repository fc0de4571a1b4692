import type { AllocUpdate, BroadcastListener, TaskEventInput } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";
import type { HookResources } from "@outrider/hook-resources";
import type { Allocation, AllocNetworkStatus } from "@outrider/nomad-structs";
import type { AllocChecks } from "./checks/alloc-checks.ts";
import type { AllocServices } from "./services/alloc-services.ts";
import type { ClientAllocRunnerConfig } from "../task/ports.ts";

/** What alloc hooks leave for task hooks (client-runtime.md 6). */
export interface AllocResourcesShape {
  /** By volume alias. */
  readonly csiMounts: Readonly<Record<string, { readonly source: string; readonly device: boolean }>>;
  /** By cluster, then by identity name. */
  readonly consulTokens: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** By service, in the order of the job file. */
  readonly consulCheckIds: Readonly<Record<string, readonly string[]>>;
  readonly networkStatus: AllocNetworkStatus | null;
}

/** The part of a runner that hooks may use. */
export interface AllocHookContext {
  readonly config: ClientAllocRunnerConfig;
  readonly allocDir: AllocDir;
  readonly resources: HookResources<AllocResourcesShape>;
  readonly alloc: () => Allocation;
  readonly listener: () => BroadcastListener<AllocUpdate>;
  readonly deployment: () => Allocation["DeploymentStatus"];
  /** Keeps and reports the health; null takes it back. */
  readonly setHealth: (healthy: boolean | null, events: ReadonlyMap<string, TaskEventInput>) => Promise<void>;
  readonly checks: AllocChecks;
  readonly services: AllocServices | undefined;
  /** Adds an event to each task of the group that lives; false when none does. */
  readonly tellLiving: (event: TaskEventInput) => boolean;
  /** Whether a task of the allocation has ever run. */
  readonly hasStarted: () => boolean;
  /** Aborted when the server asks to skip shutdown delays. */
  readonly skipShutdownDelay: AbortSignal;
  readonly onMaxRunExceeded: () => void;
}
