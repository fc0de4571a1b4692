import { describe, expect, it } from "vitest";
import { parseCron, parseSchedule, ScheduleError, validate, type ParseOptions } from "@outrider/cron-schedule";
import { errorOf } from "./error-of.ts";

const DAY = 86_400_000;
const base = { start: "0 9 * * * *", end: "0 17", timezone: "UTC" };
const parse = (changes: object, options?: ParseOptions) => parseSchedule({ ...base, ...changes }, options);

/** The days of 2026 (or later) on which a start pattern opens, as MM-DD. */
function days(start: string, count: number, from = "2026-01-01"): string[] {
  const schedule = parseSchedule({ ...base, start }, { dialect: "extended" });
  return [...schedule.windows(new Date(`${from}T00:00Z`), { count })].map((w) => w.localStart.slice(5, 10));
}

/** Times of day of the runs of a cron expression on 2026-06-10. */
function runs(expression: string): string[] {
  const cron = parseCron(expression);
  const list: string[] = [];
  const end = Date.UTC(2026, 5, 11);
  for (let t = cron.next(Date.UTC(2026, 5, 10) - 1); t !== null && t.getTime() < end; t = cron.next(t))
    list.push(t.toISOString().slice(11, 19));
  return list;
}

describe("parseSchedule", () => {
  it.each([
    [undefined, "cron-missing", "must specify cron block"],
    [null, "cron-missing", "must specify cron block"],
    [{}, "cron-missing", "must specify cron block"],
    ["0 9 * * * *", "cron-missing", "must specify cron block"],
    [{ end: "0 17" }, "start-fields", "cron.start must contain 6 fields"],
    [{ start: 5, end: "0 17" }, "start-fields", "cron.start must contain 6 fields"],
    [{ start: "0 9 * * * *" }, "end-fields", "cron.end must contain 2 fields"],
    [{ ...base, start: "0 9,10 * * * *" }, "start-chars", 'cron.start must not contain "/,"'],
    [{ ...base, end: "0/5 17" }, "end-chars", 'cron.end must not contain "/,"'],
    [{ ...base, timezone: "the moon" }, "timezone", "invalid timezone in schedule: unknown time zone the moon"],
    [{ ...base, timezone: 5 }, "timezone", "invalid timezone in schedule: unknown time zone 5"],
    [
      { ...base, start: "60 9 * * * *" },
      "start-syntax",
      "invalid start time in schedule: \"60 9 * * * *\"; syntax error in minute field: '60'",
    ],
    [
      { ...base, end: "x 17" },
      "end-syntax",
      "invalid end time in schedule: \"x 17\"; syntax error in minute field: 'x'",
    ],
    [{ ...base, start: "0 9 30 2 * *" }, "never", "no date matches cron.start"],
    [{ ...base, end: "0 9" }, "end-before-start", "end cannot be sooner than start; end=0 9, start=0 9 * * * *"],
  ])("refuses %j with %s", (input, code, message) => {
    const error = errorOf(() => parseSchedule(input as never));
    expect(error).toBeInstanceOf(ScheduleError);
    expect(error).toMatchObject({ name: "ScheduleError", code, recoverable: false });
    expect(error.message).toContain(message);
    expect(error[Symbol.for("outrider.error") as never]).toBe(true);
  });

  it("reports the first fault in the order of the checks, and all of them through validate", () => {
    const bad = { start: "60 9,10 * * * *", end: "0 x 17", timezone: "the moon" };
    expect(errorOf(() => parseSchedule(bad)).code).toBe("end-fields");
    expect(validate(bad).map((issue) => `${issue.severity} ${issue.code} ${issue.field}`)).toEqual([
      "error end-fields end",
      "error start-chars start",
      "error timezone timezone",
      "error start-syntax start",
    ]);
    expect(validate({ ...base, start: "0 9 * *", end: "5" }).map((issue) => issue.code)).toEqual([
      "start-fields",
      "end-fields",
    ]);
    expect(validate({ ...base, start: "0 9 31 4 * *", end: "0 8" }).map((issue) => issue.code)).toEqual([
      "never",
      "end-before-start",
    ]);
  });

  it("names the offending field and text, also among several windows", () => {
    const error = errorOf(() => parseSchedule({ windows: [base, { ...base, end: "0 77" }] }));
    expect(error).toMatchObject({ code: "end-syntax", field: "windows[1].end", text: "0 77" });
    expect(errorOf(() => parseSchedule({ windows: [base], downtime: [{ ...base, timezone: "x" }] })).field).toBe(
      "downtime[0].timezone",
    );
  });

  it("shortens long texts in errors, and refuses expressions of more than 4096 characters", () => {
    const long = parseError({ start: `${"9".repeat(3000)} 9 * * * *` });
    expect(long.code).toBe("start-syntax");
    expect(long.text).toHaveLength(201);
    expect(parseError({ start: `0 9 * * * ${"*".repeat(5000)}` })).toMatchObject({
      code: "start-fields",
      message: expect.stringContaining("at most 4096") as string,
    });
    expect(parseError({ end: " ".repeat(5000) }).message).toContain("at most 4096");
    const strange = {
      toString: () => {
        throw new Error("no text");
      },
    };
    expect(parseError({ start: strange })).toMatchObject({ code: "start-fields", text: "object" });
    function parseError(changes: object): ScheduleError {
      return errorOf(() => parse(changes));
    }
  });

  it("ignores the end of the month in the comparison of times (hashicorp/nomad#23159)", () => {
    const { inWindow, nextEnd } = parse({}).evaluate(new Date("2026-04-30T12:00Z"));
    expect([inWindow, nextEnd?.toISOString()]).toEqual([true, "2026-04-30T17:00:00.000Z"]);
  });

  it.each([["dialect", { dialect: "quartz" }]])("refuses an unknown %s", (field, options) => {
    expect(errorOf(() => parse({}, options as never))).toMatchObject({ code: "option", field });
    expect(validate(base, options as never)).toHaveLength(1);
  });

  it.each([
    ["windows", { windows: [] }, "cron-missing"],
    ["windows", { windows: undefined }, "cron-missing"],
    ["windows", { windows: Array.from({ length: 101 }, () => base) }, "cron-missing"],
    ["windows", { windows: base }, "cron-missing"],
    ["downtime", { windows: [base], downtime: base }, "option"],
    ["jitter.maxMs", { windows: [base], jitter: { maxMs: -1, key: "a" } }, "option"],
    ["jitter.maxMs", { windows: [base], jitter: { maxMs: DAY + 1, key: "a" } }, "option"],
    ["jitter.maxMs", { windows: [base], jitter: null }, "option"],
    ["jitter.maxMs", { windows: [base], jitter: { maxMs: "5", key: "a" } }, "option"],
    ["jitter.key", { windows: [base], jitter: { maxMs: 5 } }, "option"],
    ["except", { windows: [base], except: "2026-12-25" }, "date-rule"],
    ["except", { windows: [base], except: Array.from({ length: 401 }, () => "12-25") }, "date-rule"],
    ["except[0]", { windows: [base], except: ["25.12."] }, "date-rule"],
    ["except[1]", { windows: [base], except: ["12-25", 5] }, "date-rule"],
    ["except[0]", { windows: [base], except: ["2026-02-29"] }, "date-rule"],
    ["except[0]", { windows: [base], except: ["13-01"] }, "date-rule"],
    ["except[0]", { windows: [base], except: ["00-10"] }, "date-rule"],
    ["except[0]", { windows: [base], except: ["01-00"] }, "date-rule"],
    ["except[0]", { windows: [base], except: ["2026-12-24..2026-12-32"] }, "date-rule"],
    ["except[0]", { windows: [base], except: ["2026-12-24..01-02"] }, "date-rule"],
    ["extra[0]", { windows: [base], extra: ["12-24..2027-01-02"] }, "date-rule"],
    ["extra[0]", { windows: [base], extra: ["2026-12-24..2026-12-23"] }, "date-rule"],
  ])("refuses %s in %j", (field, input, code) => {
    expect(errorOf(() => parseSchedule(input as never))).toMatchObject({ code, field });
  });

  it("accepts as valid what is merely over, and what has nothing to complain about", () => {
    expect(validate(base)).toEqual([]);
    expect(parse({ start: "0 9 * * * 2025" }).evaluate(Date.UTC(2026, 0, 1))).toEqual({
      inWindow: false,
      nextStart: null,
      nextEnd: null,
    });
  });

  it("takes a six-field end in the extended dialect only: windows of several days", () => {
    const week = { start: "0 9 * * MON *", end: "0 17 * * FRI *", timezone: "Europe/Berlin" };
    expect(errorOf(() => parseSchedule(week)).code).toBe("end-fields");
    const schedule = parseSchedule(week, { dialect: "extended" });
    expect(
      [...schedule.windows(Date.UTC(2026, 2, 25), { count: 2 })].map((w) => [w.localStart, w.localEnd, w.dst]),
    ).toEqual([
      ["2026-03-23T09:00:00+01:00", "2026-03-27T17:00:00+01:00", undefined],
      ["2026-03-30T09:00:00+02:00", "2026-04-03T17:00:00+02:00", undefined],
    ]);
    expect(errorOf(() => parseSchedule({ ...week, end: "0 17 30 2 * *" }, { dialect: "extended" }))).toMatchObject({
      code: "never",
      field: "end",
    });
    expect(errorOf(() => parseSchedule({ ...week, end: "0 17 * *" }, { dialect: "extended" })).code).toBe("end-fields");
    // An end that has passed for good: open for ever.
    expect(
      parseSchedule({ ...week, end: "0 17 * * * 2025" }, { dialect: "extended" }).evaluate(Date.UTC(2026, 5, 1)),
    ).toEqual({ inWindow: true, nextStart: null, nextEnd: null });
  });
});

describe("the grammar of day fields", () => {
  it.each([
    ["0 9 * * 5-7 *", ["01-02", "01-03", "01-04", "01-09"]],
    ["0 9 * * FRI-MON *", ["01-02", "01-03", "01-04", "01-05", "01-09"]],
    ["0 9 * * SAT-SUN *", ["01-03", "01-04", "01-10"]],
    ["0 9 * * 7-2 *", ["01-04", "01-05", "01-06", "01-11"]],
    ["0 9 * * 0-0 *", ["01-04", "01-11"]],
    ["0 9 * * SUN-SUN *", ["01-04", "01-11"]],
    ["0 9 * * 7 *", ["01-04", "01-11"]],
    ["0 9 * * 0-7 *", ["01-01", "01-02", "01-03"]],
    ["0 9 * * 1-7 *", ["01-01", "01-02", "01-03"]],
    ["0 9 * * 03 *", ["01-07", "01-14"]],
    ["0 9 * * 2/2 *", ["01-01", "01-03", "01-06"]],
    ["0 9 * * 7/3 *", ["01-03", "01-04", "01-07"]],
    ["0 9 * * */3 *", ["01-03", "01-04", "01-07"]],
    ["0 9 * * FRI-MON/2 *", ["01-02", "01-04", "01-09"]],
    ["0 9 * * TUESDAY,thu *", ["01-01", "01-06", "01-08"]],
    ["0 9 * * FRIL *", ["01-30", "02-27", "03-27"]],
    ["0 9 * * 7L *", ["01-25", "02-22"]],
    ["0 9 * * MON#1,wednesday#2 *", ["01-05", "01-14", "02-02"]],
    ["0 9 L * * *", ["01-31", "02-28", "03-31"]],
    ["0 9 LW * * *", ["01-30", "02-27", "03-31"]],
    ["0 9 1W * * *", ["01-01", "02-02", "03-02"]],
    ["0 9 31W * * *", ["01-30", "03-31", "05-29"]],
    ["0 9 15w,l * * *", ["01-15", "01-31", "02-16", "02-28"]],
    ["0 9 28W 2 * *", ["02-27", "03-01"].slice(0, 1)],
    ["0 9 */15 * * *", ["01-01", "01-16", "01-31", "02-01"]],
    ["0 9 5/10 * * *", ["01-05", "01-15", "01-25"]],
    ["0 9 10-20/5 04 * *", ["04-10", "04-15", "04-20"]],
    ["0 9 1 jan-mar,december * *", ["01-01", "02-01", "03-01", "12-01"]],
    ["0 9 13 * FRI *", ["01-02", "01-09", "01-13"]],
    ["0 9 *,13 * FRI *", ["01-02", "01-09", "01-16"]],
    ["0 9 */2 * MON *", ["01-01", "01-03", "01-05"]],
    ["0 9 1 1 * 2027-2031/2", ["01-01", "01-01", "01-01"]],
    ["0 9 1 1 * 2030,*", ["01-01", "01-01"]],
  ])("%s opens on %j (hashicorp/nomad#8804)", (start, want) => {
    expect(days(start, want.length)).toEqual(want);
  });

  it("knows every shape of a month for nW and LW", () => {
    for (let year = 2020; year < 2048; year++) {
      for (const n of [1, 15, 28, 30, 31]) {
        const got = new Map(
          [
            ...parseSchedule({ ...base, start: `0 9 ${n}W * * ${year}` }).windows(Date.UTC(year, 0, 1), { count: 12 }),
          ].map((w) => [w.start.getUTCMonth(), w.start.getUTCDate()]),
        );
        for (let month = 0; month < 12; month++) {
          const length = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
          const weekday = (d: number): number => new Date(Date.UTC(year, month, d)).getUTCDay();
          const near = [n, n - 1, n + 1, n + 2, n - 2].find((d) => d >= 1 && d <= length && weekday(d) % 6 !== 0);
          // Saturday looks back first, Sunday forward.
          const want =
            n > length ? undefined : weekday(n) === 6 && n > 1 ? n - 1 : weekday(n) === 0 && n < length ? n + 1 : near;
          expect([year, month, n, got.get(month)]).toEqual([year, month, n, want]);
        }
      }
    }
  });

  it.each([
    "60 9 * * * *",
    "0 24 * * * *",
    "0 9 0 * * *",
    "0 9 32 * * *",
    "0 9 * 0 * *",
    "0 9 * 13 * *",
    "0 9 * * 8 *",
    "0 9 * * * 1969",
    "0 9 * * * 2100",
    "0 9 * * * 26",
    "000 9 * * * *",
    "0 009 * * * *",
    "0 9 * JANU * *",
    "0 9 * * MO *",
    "0 9 * * MON#0 *",
    "0 9 * * MON#6 *",
    "0 9 * * #2 *",
    "0 9 * * L *",
    "0 9 * * 9L *",
    "0 9 W * * *",
    "0 9 0W * * *",
    "0 9 32W * * *",
    "0 9 LL * * *",
    "30-10 9 * * * *",
    "0 17-9 * * * *",
    "0 9 * 11-2 * *",
    "0 9 20-10 * * *",
    "0 9 * * * 2030-2029",
    "0 9 1- * * *",
    "0 9 -5 * * *",
    "0 9 1-99 * * *",
    "0 9 - * * *",
    "0 9 *-5 * * *",
    "*/0 9 * * * *",
    "*/75 9 * * * *",
    "*/007 9 * * * *",
    "*/ 9 * * * *",
    "?/5 9 * * * *",
    "*/5/5 9 * * * *",
    "5,,6 9 * * * *",
    ",5 9 * * * *",
    "5, 9 * * * *",
    "+5 9 * * * *",
    "5.0 9 * * * *",
    "0 9 * * */7 *",
    "0 9 * * * */0",
    "0 9 * * * */3000",
    "٣ 9 * * * *",
    "0 9 * * FRI-8 *",
    "0 9 * * x-FRI *",
  ])("refuses %s", (start) => {
    expect(errorOf(() => parse({ start }, { dialect: "extended" })).code).toBe("start-syntax");
  });

  it.each([
    ["*/75 9 * * * *", "invalid interval */75"],
    ["0 9 1,,2 * * *", "syntax error in day-of-month field: ''"],
    ["0 9 * * 1-x *", "syntax error in day-of-week field: '1-x'"],
  ])("words the fault of %s like cronexpr", (start, message) => {
    expect(errorOf(() => parse({ start }, { dialect: "extended" })).message).toContain(message);
  });

  it.each(["0 9 30 2 * *", "0 9 31 4,6,9,11 * *", "0 9 29 2 * 2027", "0 9 31W 6 * *", "0 9 * 2 FRI#5 2026-2035"])(
    "finds that %s never comes (harrisiirak/cron-parser#25)",
    (start) => {
      expect(errorOf(() => parse({ start }, { dialect: "extended" })).code).toBe("never");
    },
  );

  it("finds dates decades away", () => {
    expect(days("0 9 29 2 SUN#5 *", 1, "2026-01-01")).toEqual(["02-29"]);
    expect(
      parse({ start: "0 9 * 2 FRI#5 *" })
        .evaluate(Date.UTC(2064, 2, 1))
        .nextStart?.toISOString(),
    ).toBe("2092-02-29T09:00:00.000Z");
  });
});

describe("the grammar of times", () => {
  it.each([
    ["0 9 * * *", ["09:00:00"]],
    ["15,45 9,17 * * *", ["09:15:00", "09:45:00", "17:15:00", "17:45:00"]],
    ["59 */8 * * *", ["00:59:00", "08:59:00", "16:59:00"]],
    ["0 9 * * * 2026", ["09:00:00"]],
    ["0 9 * * * 2025,2027", []],
    ["10,50 0 9 * * * *", ["09:00:10", "09:00:50"]],
    ["*/20 59 23 * * * *", ["23:59:00", "23:59:20", "23:59:40"]],
    ["0 0 9 * * * * ignored too", ["09:00:00"]],
    ["  0\t9  *\n*  * ", ["09:00:00"]],
    ["@daily", ["00:00:00"]],
    ["@DAILY", ["00:00:00"]],
    ["@weekly", []],
    ["? 9 10 6 ?", Array.from({ length: 60 }, (_, i) => `09:${String(i).padStart(2, "0")}:00`)],
  ])("%s runs at %j", (expression, want) => {
    expect(runs(expression)).toEqual(want);
  });
});
