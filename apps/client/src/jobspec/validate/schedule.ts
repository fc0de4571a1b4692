import { parseSchedule } from "@outrider/cron-schedule";
import type { Task, TaskGroup } from "@outrider/nomad-structs";
import type { Report } from "./report.ts";

/** The keys of a task's meta that stand for a schedule block where a server refuses the block. */
export const SCHEDULE_META = {
  start: "outrider_schedule_start",
  end: "outrider_schedule_end",
  timezone: "outrider_schedule_timezone",
} as const;

interface Fault {
  readonly code?: unknown;
  readonly message: string;
  readonly field?: unknown;
}

function checkWindow(start: string, end: string, timezone: string, field: string, r: Report): void {
  try {
    parseSchedule({ start, end, ...(timezone === "" ? {} : { timezone }) });
  } catch (error) {
    const fault = error as Fault;
    const part = typeof fault.field === "string" ? `, ${fault.field}` : "";
    const code = typeof fault.code === "string" ? fault.code : "invalid";
    r.error(`schedule-${code}`, field, `${start} | ${end} | ${timezone}`, `schedule${part}: ${fault.message}`);
  }
}

/** The window of a task, from its block or its meta. */
export function checkSchedule(task: Task, _group: TaskGroup, r: Report): void {
  if (task.Schedule !== null) {
    const cron = task.Schedule.Cron;
    if (cron === null) {
      r.error("schedule-cron-missing", "Schedule.Cron", "", "a schedule block must specify cron block");
      return;
    }
    checkWindow(cron.Start, cron.End, cron.Timezone, "Schedule.Cron", r);
    return;
  }
  const meta = task.Meta ?? {};
  const given = Object.values(SCHEDULE_META).filter((key) => Object.hasOwn(meta, key));
  if (given.length === 0) return;
  checkWindow(
    meta[SCHEDULE_META.start] ?? "",
    meta[SCHEDULE_META.end] ?? "",
    meta[SCHEDULE_META.timezone] ?? "",
    "Meta",
    r,
  );
}
