import type { ScheduleError } from "@outrider/cron-schedule";

/** The raised error. */
export function errorOf(fn: () => unknown): ScheduleError {
  try {
    fn();
  } catch (error) {
    return error as ScheduleError;
  }
  throw new Error("nothing was thrown");
}
