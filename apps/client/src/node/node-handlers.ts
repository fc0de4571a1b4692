import type { AllocDirFS, StreamFrame, TaskLogRequest } from "@outrider/allocdir-interface";
import type { AllocResourceUsage, HostStats } from "@outrider/nomad-structs";
import type { ExecInput, ExecOutput, ExecRequest } from "@outrider/plugin-driver";

/** Wire words of a pause state (cron-schedule.md 8). */
export type PauseState = "" | "force_run" | "scheduled_pause" | "force_pause" | "schedule_resume";

/** Everything a server, or the node's own HTTP API, may ask of this node about its allocations. Unknown ids reject with `ERR_OUTRIDER_NODE_UNKNOWN_ALLOC`. */
export interface NodeHandlers {
  hasAlloc(allocId: string): boolean;
  allocStats(allocId: string, task?: string): Promise<AllocResourceUsage>;
  hostStats(): Promise<HostStats>;
  signal(allocId: string, task: string, signal: string): Promise<void>;
  restart(allocId: string, o: { task: string; allTasks: boolean }): Promise<void>;
  setPause(allocId: string, task: string, state: PauseState): Promise<void>;
  getPause(allocId: string, task: string): Promise<PauseState>;
  checks(allocId: string): Promise<Record<string, unknown>>;
  /** The file API of a living allocation. */
  allocFs(allocId: string): AllocDirFS;
  /** Task log frames; `taskStarted` and unknown names are checked first (allocdir.md 4.7, 4.8). */
  logs(allocId: string, o: TaskLogRequest, signal: AbortSignal): AsyncIterable<StreamFrame>;
  /** Runs a command beside a task, on a terminal when asked. The task's names and state are checked before anything is started. */
  exec(
    allocId: string,
    o: { readonly task: string } & ExecRequest,
    input: AsyncIterable<ExecInput>,
    signal: AbortSignal,
  ): AsyncIterable<ExecOutput>;
  collectGarbage(allocId?: string): Promise<void>;
}
