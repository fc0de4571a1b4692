import { describe, expect, it } from "vitest";
import { parseSchedule, ScheduleError } from "@outrider/cron-schedule";
import { errors, iso, vectors } from "./vectors.ts";

describe("the shared vectors", () => {
  it("are all there", () => {
    expect([vectors.length, errors.length]).toEqual([85, 37]);
  });

  it.each(vectors.map((v) => [v.rule, v.id, v] as const))("%s %s: evaluates as written", (_rule, _id, v) => {
    const schedule = parseSchedule({ start: v.start, end: v.end, timezone: v.zone }, v.options);
    const { inWindow, nextStart, nextEnd } = schedule.evaluate(new Date(v.now));
    expect({ inWindow, nextStart: iso(nextStart), nextEnd: iso(nextEnd) }).toEqual(v.expect);
  });

  it.each(errors.map((v) => [v.id, v] as const))("%s: is refused with its code", (_id, v) => {
    let caught: unknown;
    try {
      parseSchedule({ start: v.start, end: v.end, timezone: v.zone }, v.options);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(ScheduleError);
    expect((caught as ScheduleError).code).toBe(v.expect.error);
  });
});
