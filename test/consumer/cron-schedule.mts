import {
  Cron,
  nextCron,
  parseCron,
  parseSchedule,
  Schedule,
  ScheduleError,
  validate,
  type Evaluation,
  type ScheduleSpec,
  type Window,
} from "@outrider/cron-schedule";
import { codeOf, equal, exact } from "./assert.mjs";

export function cronScheduleUser(): void {
  const window: Window = { start: "30 9 * * MON-FRI *", end: "0 16", timezone: "America/New_York" };
  const spec: ScheduleSpec = { windows: [window], except: ["12-25"], jitter: { maxMs: 0, key: "a" } };
  const schedule = parseSchedule(spec, { dialect: "nomad" });
  const { inWindow, nextStart, nextEnd }: Evaluation = schedule.evaluate(Date.UTC(2026, 5, 12, 14));
  exact<Date | null>()(nextStart);
  equal(inWindow, true);
  equal(nextEnd?.toISOString(), "2026-06-12T20:00:00.000Z");
  equal([...schedule.windows(0, { count: 2 })].length, 2);
  const cron = parseCron("0 9 29 2 *", { timezone: "UTC", missing: "shift" });
  equal([...cron.runs(0, { count: 1 })][0]?.toISOString(), "1972-02-29T09:00:00.000Z");
  exact<Date | null>()(nextCron([cron], new Date(0)));
  equal(cron instanceof Cron && schedule instanceof Schedule, true);
  equal(validate({ start: "x", end: "y" })[0]?.severity, "error");
  equal(
    codeOf(() => parseCron("61 * * * *")),
    "cron-syntax",
  );
  exact<string>()(new ScheduleError("option", "f", "t", "m").field);
  // @ts-expect-error seconds are no option
  parseCron("* * * * *", { seconds: true });
}
