import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCron, parseSchedule, ScheduleError, validate } from "@outrider/cron-schedule";

/** Texts that look like cron for a while. */
const token = fc.constantFrom(
  "*",
  "?",
  "/",
  "-",
  ",",
  "#",
  "L",
  "W",
  "LW",
  "MON",
  "FRIL",
  "SUN-",
  "JAN",
  "0",
  "5",
  "07",
  "31",
  "59",
  "60",
  "2026",
  "2099",
  "@daily",
  "@",
  " ",
  " ",
  " ",
  "\t",
  "\n",
  "٣",
  "𝟓",
  "\u0000",
  "99999999999999999999",
  "-1",
  "1e3",
);
const cronish = fc.array(token, { maxLength: 60 }).map((parts) => parts.join(""));
const text = fc.oneof(cronish, fc.string({ unit: "binary", maxLength: 200 }), fc.string({ maxLength: 60 }));
const anything = fc.oneof(text, fc.anything());

/** Runs with a limit of 10 ms; a slow run is repeated, since the machine may be busy. */
function bounded(run: () => unknown): void {
  let best = Infinity;
  for (let i = 0; i < 6 && best > 10; i++) {
    const start = performance.now();
    try {
      run();
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
    }
    best = Math.min(best, performance.now() - start);
  }
  expect(best).toBeLessThanOrEqual(10);
}

describe("the parser is total (hashicorp/nomad#8804)", () => {
  it("for cron expressions: a value that can be asked, or a ScheduleError, within 10 ms", () => {
    fc.assert(
      fc.property(anything, (expression) => {
        bounded(() => {
          const cron = parseCron(expression as string);
          cron.next(0);
          cron.previous(4e12);
          cron.describe();
        });
      }),
      { numRuns: 2000 },
    );
  });

  it("for windows: a value that can be asked, or a ScheduleError, within 10 ms", () => {
    const zone = fc.oneof(fc.constantFrom("UTC", "Europe/Paris", undefined), text);
    fc.assert(
      fc.property(
        text,
        text,
        zone,
        fc.constantFrom("nomad", "extended"),
        fc.boolean(),
        (start, end, timezone, dialect, overnight) => {
          bounded(() => {
            const schedule = parseSchedule({ start, end, timezone }, { dialect, overnight } as never);
            schedule.evaluate(1.8e12);
            schedule.describe();
          });
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("for valid shapes with wild values, at any instant", () => {
    const field = (min: number, max: number) => {
      const value = fc.integer({ min, max });
      return fc.oneof(
        fc.constant("*"),
        value.map(String),
        fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
        fc.tuple(value, fc.integer({ min: 1, max: 7 })).map(([a, s]) => `${a}/${s}`),
      );
    };
    const start = fc.tuple(
      field(0, 59),
      field(0, 23),
      fc.oneof(field(1, 31), fc.constantFrom("L", "LW", "31W", "1W")),
      field(1, 12),
      fc.oneof(field(0, 6), fc.constantFrom("FRI#5", "0L", "FRI-MON")),
      field(1970, 2099),
    );
    const end = fc.tuple(field(0, 59), field(0, 23));
    fc.assert(
      fc.property(
        start,
        end,
        fc.integer({ min: -1e13, max: 1e13 }),
        fc.constantFrom("UTC", "America/New_York", "Pacific/Apia"),
        (a, b, now, timezone) => {
          bounded(() => {
            const schedule = parseSchedule(
              { start: a.join(" "), end: b.join(" "), timezone },
              { dialect: "extended", overnight: true },
            );
            const { inWindow, nextStart, nextEnd } = schedule.evaluate(now);
            // Next is strictly later; an end belongs to the open window or to the coming one.
            if (nextStart) expect(nextStart.getTime()).toBeGreaterThan(now);
            if (nextEnd) expect(nextEnd.getTime()).toBeGreaterThan(inWindow ? now : (nextStart?.getTime() as number));
          });
        },
      ),
      { numRuns: 1500 },
    );
  });

  it("for everything handed to validate: a list, never an exception", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.record({
            windows: fc.anything(),
            except: fc.anything(),
            extra: fc.anything(),
            downtime: fc.anything(),
            jitter: fc.anything(),
          }),
        ),
        (input) => {
          expect(Array.isArray(validate(input))).toBe(true);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
