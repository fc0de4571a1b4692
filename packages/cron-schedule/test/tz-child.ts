/** Evaluates all vectors under the TZ of the process, and prints what differs. Started by host-zone.test.ts. */
import { parseCron, parseSchedule } from "@outrider/cron-schedule";
import { iso, vectors } from "./vectors.ts";

const differences: string[] = [];
for (const v of vectors) {
  const schedule = parseSchedule({ start: v.start, end: v.end, timezone: v.zone }, v.options);
  const { inWindow, nextStart, nextEnd } = schedule.evaluate(new Date(v.now));
  const got = JSON.stringify({ inWindow, nextStart: iso(nextStart), nextEnd: iso(nextEnd) });
  if (got !== JSON.stringify(v.expect)) differences.push(v.id);
}
const run = parseCron("30 2 * * *", { timezone: "Europe/Paris" }).next(Date.UTC(2026, 5, 1));
const local = parseSchedule({ start: "0 9 * * * *", end: "0 17" });
console.log(
  JSON.stringify({
    vectors: vectors.length,
    differences,
    run: iso(run),
    local: local.timezones[0],
    open: iso(local.evaluate(Date.UTC(2026, 0, 15)).nextStart),
  }),
);
