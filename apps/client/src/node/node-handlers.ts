import type { AllocDirFS } from "@outrider/allocdir-interface";
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
  logs(allocId: string, o: LogRequest, signal: AbortSignal): AsyncIterable<LogFrame>;
  /** Runs a command beside a task, on a terminal when asked. The task's names and state are checked before anything is started. */
  exec(
    allocId: string,
    o: { readonly task: string } & ExecRequest,
    input: AsyncIterable<ExecInput>,
    signal: AbortSignal,
  ): AsyncIterable<ExecOutput>;
  collectGarbage(allocId?: string): Promise<void>;
}

/** A request for a task's log. `offset` is over all retained files. */
export interface LogRequest {
  readonly task: string;
  readonly type: "stdout" | "stderr";
  readonly follow: boolean;
  readonly offset: number;
  readonly origin: "start" | "end";
}

/** One frame of a log or file stream; an empty one is a heartbeat. `offset` is the exact position after the data. */
export interface LogFrame {
  readonly file?: string;
  readonly offset?: number;
  readonly data?: Uint8Array;
  readonly fileEvent?: "file deleted" | "file truncated";
}
