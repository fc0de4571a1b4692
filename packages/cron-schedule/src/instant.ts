import { ScheduleError } from "./schedule-error.ts";

/** Milliseconds of an instant. */
export function instant(field: string, value: Date | number): number {
  const t = Number(value);
  if (!(Math.abs(t) <= 8.64e15)) throw new ScheduleError("instant", field, value, `${field} must be a valid date`);
  return t;
}
