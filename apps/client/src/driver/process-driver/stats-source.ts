/** Usage of a task, as the driver hands it out. */
import type { TaskResourceUsage } from "@outrider/plugin-driver";
import type { TaskRecord } from "./task-record.ts";

/** Samples tasks. */
export interface StatsSource {
  /** The first sample at once, then one per interval, until the task ends or the signal aborts. */
  stream(record: TaskRecord, intervalMs: number, signal: AbortSignal): AsyncIterable<TaskResourceUsage>;
}
