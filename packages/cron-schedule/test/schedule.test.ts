import { afterEach, describe, expect, it, vi } from "vitest";
import { parseSchedule, validate, type ScheduleSpec } from "@outrider/cron-schedule";
import { zoneNamed } from "../src/zone.ts";
import { errorOf } from "./error-of.ts";
import { iso } from "./vectors.ts";

const t = (text: string): Date => new Date(text);
const work = { start: "30 9 * * MON-FRI *", end: "0 16", timezone: "America/New_York" };
const night = { start: "0 22 * * * *", end: "0 6", timezone: "Europe/Paris" };
const lunch = { start: "0 12 * * * *", end: "0 13", timezone: "America/New_York" };
const always = { start: "0 0 * * * *", end: "0 0", timezone: "UTC" };
const overnight = { overnight: true } as const;

/** The processor time of this process, which does not depend on what else the machine does. */
const cpuMsSince = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.resetModules();
});

describe("Schedule", () => {
  it("evaluates dates and numbers alike, and remembers nothing wrong", () => {
    const schedule = parseSchedule(work);
    const inside = t("2026-06-10T14:00:00Z");
    const outside = t("2026-06-10T21:00:00Z");
    for (const now of [inside, outside, inside, outside, inside]) {
      expect(schedule.isOpen(now)).toBe(now === inside);
      expect(schedule.evaluate(now.getTime())).toEqual(schedule.evaluate(now));
    }
    expect(errorOf(() => schedule.evaluate(NaN))).toMatchObject({ code: "instant", field: "now", text: "NaN" });
    expect(errorOf(() => schedule.evaluate("x" as never)).code).toBe("instant");
  });

  it("has answers for instants far outside its calendar", () => {
    const schedule = parseSchedule(work);
    expect(schedule.evaluate(8e15)).toEqual({ inWindow: false, nextStart: null, nextEnd: null });
    expect(iso(schedule.evaluate(-8e15).nextStart)).toBe("1970-01-01T14:30:00Z");
    expect(schedule.next(-8e15)?.localEnd).toBe("1970-01-01T16:00:00-05:00");
  });

  it("does not share dates that a caller could change", () => {
    const schedule = parseSchedule(work);
    const now = t("2026-06-10T14:00:00Z");
    schedule.evaluate(now).nextEnd?.setTime(0);
    expect(iso(schedule.evaluate(now).nextEnd)).toBe("2026-06-10T20:00:00Z");
  });

  it("lists windows from the open one on, lazily", () => {
    const schedule = parseSchedule(work);
    const now = t("2026-06-12T14:00:00Z");
    expect([...schedule.windows(now, { count: 2 })]).toEqual([
      {
        start: t("2026-06-12T13:30:00Z"),
        end: t("2026-06-12T20:00:00Z"),
        localStart: "2026-06-12T09:30:00-04:00",
        localEnd: "2026-06-12T16:00:00-04:00",
        durationMs: 23_400_000,
      },
      {
        start: t("2026-06-15T13:30:00Z"),
        end: t("2026-06-15T20:00:00Z"),
        localStart: "2026-06-15T09:30:00-04:00",
        localEnd: "2026-06-15T16:00:00-04:00",
        durationMs: 23_400_000,
      },
    ]);
    expect([...schedule.windows(now, { until: t("2026-06-16T13:30:00Z") })]).toHaveLength(2);
    expect([...schedule.windows(now, { until: t("2026-06-16T13:30:00.001Z").getTime() })]).toHaveLength(3);
    expect([...parseSchedule({ ...work, start: "30 9 * * * 2026" }).windows(t("2026-12-30T23:00:00Z"))]).toHaveLength(
      1,
    );
    expect(errorOf(() => [...schedule.windows(now, { until: NaN })]).field).toBe("until");
    expect(errorOf(() => [...schedule.windows(NaN)]).field).toBe("from");
  });

  it("tells the next and the previous window", () => {
    const schedule = parseSchedule(work);
    const now = t("2026-06-12T14:00:00Z");
    expect(iso(schedule.next(now)?.start ?? null)).toBe("2026-06-15T13:30:00Z");
    expect(iso(schedule.previous(now)?.end ?? null)).toBe("2026-06-11T20:00:00Z");
    expect(iso(schedule.previous(t("2026-06-12T20:00:00Z"))?.end ?? null)).toBe("2026-06-12T20:00:00Z");
    const once = parseSchedule({ ...work, start: "30 9 1 6 * 1999" });
    expect(once.next(now)).toBeNull();
    expect(once.previous(now)?.localStart).toBe("1999-06-01T09:30:00-04:00");
    expect(once.previous(t("1999-06-01T00:00:00Z"))).toBeNull();
    expect(once.previous(t("1970-01-05T00:00:00Z"))).toBeNull();
    expect(parseSchedule(always, overnight).previous(now)).toBeNull();
    expect(once.previous(8e15)?.localStart).toBe("1999-06-01T09:30:00-04:00");
  });

  it("lists no window without an end", () => {
    expect([...parseSchedule(always, overnight).windows(t("2026-06-12T14:00:00Z"))]).toEqual([]);
    const sometimes = parseSchedule({ windows: [{ ...always, start: "0 0 * * * 2026-2030" }] }, overnight);
    expect([...sometimes.windows(t("2025-06-12T14:00:00Z"))]).toEqual([]);
    expect(sometimes.evaluate(t("2025-06-12T14:00:00Z"))).toEqual({
      inWindow: false,
      nextStart: t("2026-01-01T00:00:00Z"),
      nextEnd: null,
    });
    // The last day of 2030 ends where the first of 2031 would begin.
    expect(iso(sometimes.evaluate(t("2030-06-12T14:00:00Z")).nextEnd)).toBe("2031-01-01T00:00:00Z");
    expect([...sometimes.windows(t("2030-06-12T14:00:00Z"))]).toEqual([]);
  });

  it("evaluates touching windows in every minute of years at once", () => {
    const minutes = { start: "* * * * * *", timezone: "Europe/Paris" };
    const now = t("2026-06-12T14:00:00Z");
    const before = process.cpuUsage();
    for (const [end, start, dialect] of [
      ["* *", "* * * * * *", "nomad"],
      ["* * * * MON *", "* * * * * *", "extended"],
      ["0-15 0", "* * 1-31 * * 2026-2060", "nomad"],
    ] as const) {
      const schedule = parseSchedule({ ...minutes, start, end }, { overnight: true, dialect });
      expect(schedule.evaluate(now)).toEqual({ inWindow: true, nextStart: null, nextEnd: null });
    }
    expect(cpuMsSince(before)).toBeLessThan(500);
    // Every minute but Sundays: closed from the first end on Sunday to Monday.
    const weekdays = parseSchedule({ ...minutes, start: "* * * * MON-SAT *", end: "* *" }, { overnight: true });
    expect([...weekdays.windows(now, { count: 2 })].map((w) => [w.localStart, w.localEnd])).toEqual([
      ["2026-06-08T00:00:00+02:00", "2026-06-14T00:00:00+02:00"],
      ["2026-06-15T00:00:00+02:00", "2026-06-21T00:00:00+02:00"],
    ]);
  });

  it("finds the true start of a window that has been open for weeks", () => {
    const long = parseSchedule({ start: "0 9 1 1 * *", end: "0 9 1 3 * *", timezone: "UTC" }, { dialect: "extended" });
    expect([...long.windows(t("2026-02-20T00:00:00Z"), { count: 1 })].map((w) => w.localStart)).toEqual([
      "2026-01-01T09:00:00+00:00",
    ]);
    const longer = parseSchedule(
      { start: "0 9 1 1 * 2026", end: "0 9 1 3 * 2027", timezone: "UTC" },
      { dialect: "extended" },
    );
    expect([...longer.windows(t("2027-02-20T00:00:00Z"))].map((w) => w.localStart)).toEqual([
      "2026-01-01T09:00:00+00:00",
    ]);
  });

  it.each([
    ["a skipped start", "30 2 * * * *", "0 5", "2026-03-08", "gap"],
    ["a skipped end", "30 0 * * * *", "30 2", "2026-03-08", "gap"],
    ["a start at the time after the jump", "0 3 * * * *", "0 5", "2026-03-08", undefined],
    ["an end at the time after the jump", "30 0 * * * *", "0 3", "2026-03-08", undefined],
    ["a jump in between", "0 1 * * * *", "0 4", "2026-03-08", "gap"],
    ["a repeat in between", "0 0 * * * *", "0 6", "2026-11-01", "repeat"],
    ["a repeated start", "30 1 * * * *", "0 3", "2026-11-01", "repeat"],
    ["a repeated end", "30 0 * * * *", "30 1", "2026-11-01", "repeat"],
    ["an end before the repeat", "30 0 * * * *", "59 0", "2026-11-01", undefined],
    ["a window after the repeat", "0 2 * * * *", "0 3", "2026-11-01", undefined],
    ["no change", "0 9 * * * *", "0 17", "2026-03-08", undefined],
  ])("remarks %s", (_what, start, end, day, want) => {
    const schedule = parseSchedule({ start, end, timezone: "America/New_York" });
    const [window] = schedule.windows(t(`${day}T04:00:00Z`), { count: 1 });
    expect(window?.localStart.slice(0, 10)).toBe(day);
    expect(window?.dst).toBe(want);
  });

  it("is the union of several windows in several zones", () => {
    const both = parseSchedule({ windows: [work, lunch, night] }, overnight);
    expect(both.timezones).toEqual(["America/New_York", "Europe/Paris"]);
    // 22:00–06:00 in Paris is 16:00–00:00 in New York: it touches the working day.
    expect([...both.windows(t("2026-06-10T12:00:00Z"), { count: 1 })][0]).toMatchObject({
      start: t("2026-06-10T13:30:00Z"),
      end: t("2026-06-11T04:00:00Z"),
    });
  });

  it("is endless when several windows hand over to one another for ever", () => {
    const halves = parseSchedule(
      {
        windows: [
          { ...always, end: "0 12" },
          { ...always, start: "0 12 * * * *" },
        ],
      },
      overnight,
    );
    expect(halves.evaluate(t("2026-06-10T14:00:00Z"))).toEqual({ inWindow: true, nextStart: null, nextEnd: null });
  });

  it("looks no further back than a start can reach, in a repeated hour too", () => {
    const mondays = parseSchedule({ start: "0 * * * MON *", end: "30 *", timezone: "America/New_York" }, overnight);
    expect(mondays.evaluate(t("2026-11-01T06:10:00Z"))).toEqual({
      inWindow: false,
      nextStart: t("2026-11-02T05:00:00Z"),
      nextEnd: t("2026-11-02T05:30:00Z"),
    });
  });

  it("leaves out an hourly window that lies wholly in skipped minutes", () => {
    // On Lord Howe Island the clock goes from 02:00 to 02:30.
    const hourly = parseSchedule({ start: "10 * * * * *", end: "20 *", timezone: "Australia/Lord_Howe" }, overnight);
    expect(hourly.evaluate(t("2026-10-03T15:00:00Z"))).toEqual({
      inWindow: false,
      nextStart: t("2026-10-03T16:10:00Z"),
      nextEnd: t("2026-10-03T16:20:00Z"),
    });
  });

  it("never opens again after the last year of an hourly window", () => {
    const over = parseSchedule({ start: "10 * * * * 2025", end: "20 *", timezone: "UTC" }, overnight);
    const never = { inWindow: false, nextStart: null, nextEnd: null };
    expect(over.evaluate(t("2026-06-10T14:00:00Z"))).toEqual(never);
  });

  it("never opens when downtime covers everything, and says so in bounded time", () => {
    const before = process.cpuUsage();
    const none = parseSchedule({ windows: [work], downtime: [{ ...work, start: "0 9 * * * *", end: "0 17" }] });
    expect(none.evaluate(t("2026-06-10T14:00:00Z"))).toEqual({ inWindow: false, nextStart: null, nextEnd: null });
    expect(cpuMsSince(before)).toBeLessThan(2000);
    const off = parseSchedule({ windows: [work], downtime: [always] }, overnight);
    expect(off.evaluate(t("2026-06-10T14:00:00Z")).nextStart).toBeNull();
  });

  it("skips and adds dates", () => {
    const days = (spec: Omit<ScheduleSpec, "windows">, from: string, count: number): string[] =>
      [...parseSchedule({ windows: [work], ...spec }).windows(t(from), { count })].map((w) =>
        w.localStart.slice(0, 10),
      );
    expect(days({ except: ["12-24..01-02"], extra: ["2026-12-20", "2026-12-25"] }, "2026-12-18T00:00:00Z", 6)).toEqual([
      "2026-12-18",
      "2026-12-20",
      "2026-12-21",
      "2026-12-22",
      "2026-12-23",
      "2027-01-04",
    ]);
    expect(days({ except: ["02-29"] }, "2028-02-28T00:00:00Z", 2)).toEqual(["2028-02-28", "2028-03-01"]);
    expect(days({ except: ["02-29..03-02"] }, "2027-02-26T00:00:00Z", 2)).toEqual(["2027-02-26", "2027-03-03"]);
    expect(days({ except: ["02-26..02-29"] }, "2027-02-25T00:00:00Z", 2)).toEqual(["2027-02-25", "2027-03-01"]);
    expect(days({ except: ["2026-06-10", "2026-06-10..2026-06-11"], extra: [] }, "2026-06-09T00:00:00Z", 2)).toEqual([
      "2026-06-09",
      "2026-06-12",
    ]);
    expect(
      parseSchedule({ windows: [{ ...work, start: "0 9 30 2 * *" }], extra: ["2026-06-13"] }).next(0)?.localStart,
    ).toBe("2026-06-13T09:00:00-04:00");
    expect(errorOf(() => parseSchedule({ windows: [work], except: ["1970-01-01..2100-12-31"] })).code).toBe("never");
    // Every day, apart from some.
    expect(
      iso(
        parseSchedule({ windows: [lunch], except: ["2026-06-10"] }).previous(t("2026-06-10T23:00:00Z"))?.start ?? null,
      ),
    ).toBe("2026-06-09T16:00:00Z");
  });

  it("spreads starts by a key, the same for the same key", () => {
    const at = (key: string): number =>
      parseSchedule({ windows: [work], jitter: { maxMs: 600_000, key } })
        .evaluate(t("2026-06-10T00:00:00Z"))
        .nextStart?.getTime() as number;
    const first = t("2026-06-10T13:30:00Z").getTime();
    const starts = Array.from({ length: 1000 }, (_, i) => at(`alloc-${i}`) - first);
    expect(at("alloc-7")).toBe(at("alloc-7"));
    expect(Math.min(...starts)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...starts)).toBeLessThan(600_000);
    // Evenly: each tenth of the time has about a tenth of the starts.
    const tenths = Array.from({ length: 10 }, (_, k) => starts.filter((s) => Math.floor(s / 60_000) === k).length);
    expect(Math.min(...tenths)).toBeGreaterThan(60);
    expect(
      parseSchedule({ windows: [work], jitter: { maxMs: 0, key: "a" } })
        .evaluate(t("2026-06-10T00:00:00Z"))
        .nextStart?.getTime(),
    ).toBe(first);
    expect(
      parseSchedule({ windows: [{ ...work, start: "0 9 * * * 2025" }], jitter: { maxMs: 5, key: "a" } }).evaluate(
        t("2026-06-10T00:00:00Z"),
      ).nextStart,
    ).toBeNull();
  });

  it("does not look at the jitter once a window is open for longer", () => {
    const schedule = parseSchedule({ windows: [work], jitter: { maxMs: 60_000, key: "a" } });
    expect(schedule.evaluate(t("2026-06-10T15:00:00Z"))).toMatchObject({
      inWindow: true,
      nextEnd: t("2026-06-10T20:00:00Z"),
    });
  });

  it("holds back only the window that has just begun, not those before it", () => {
    const hourly = { start: "0 * * * * *", end: "10 *", timezone: "UTC" };
    const schedule = parseSchedule({ windows: [hourly], jitter: { maxMs: 3 * 3_600_000, key: "a" } }, overnight);
    const [first, second] = [...schedule.windows(t("2026-06-10T08:59:00Z"), { count: 2 })];
    const delay = (first?.start.getTime() as number) - t("2026-06-10T09:00:00Z").getTime();
    expect(delay).toBeGreaterThan(0);
    expect(delay).toBeLessThan(600_000);
    expect(second?.start.getTime()).toBe(t("2026-06-10T10:00:00Z").getTime() + delay);
    // Asked for the first time while it is held back.
    const fresh = parseSchedule({ windows: [hourly], jitter: { maxMs: 3 * 3_600_000, key: "a" } }, overnight);
    expect(fresh.evaluate(t("2026-06-10T09:00:00Z"))).toEqual({
      inWindow: false,
      nextStart: first?.start,
      nextEnd: first?.end,
    });
    for (const [minute, open] of [
      [-1, false],
      [delay / 60_000 - 0.01, false],
      [delay / 60_000, true],
      [9.99, true],
      [10, false],
    ] as const) {
      expect(schedule.isOpen(t("2026-06-10T09:00:00Z").getTime() + minute * 60_000)).toBe(open);
    }
  });

  it.each([
    [work, {}, "from 09:30 to 16:00 on Monday to Friday (America/New_York)"],
    [{ ...work, start: "0 9 1 * * *" }, {}, "from 09:00 to 16:00 on day 1 of the month (America/New_York)"],
    [night, overnight, "from 22:00 to 06:00 the next day every day (Europe/Paris)"],
    [
      { ...work, start: "0 9 1,15,L,LW,10W * * *" },
      { dialect: "extended" },
      "from 09:00 to 16:00 on day 1, 15 of the month or the last day of the month or the last weekday of the month or the weekday nearest to day 10 of the month (America/New_York)",
    ],
    [
      { ...work, start: "0 9 L 6-8 * 2026-2028,2030" },
      { dialect: "extended" },
      "from 09:00 to 16:00 on the last day of the month in June to August in 2026 to 2028, 2030 (America/New_York)",
    ],
    [
      { ...work, start: "0 9 * * SAT,SUN,MON#1,FRIL *" },
      { dialect: "extended" },
      "from 09:00 to 16:00 on Saturday, Sunday or the first Monday of the month or the last Friday of the month (America/New_York)",
    ],
    [
      { ...work, start: "*/10 9-11 * * * *" },
      { dialect: "extended" },
      "from minute 00, 10, 20, 30, 40, 50 of hours 09 to 11 to 16:00 every day (America/New_York)",
    ],
    [
      { ...work, start: "* * * * * *", end: "30 *" },
      overnight,
      "from every minute of every hour to minute 30 of every hour every day (America/New_York)",
    ],
    [
      { ...work, end: "0 17 * * FRI *" },
      { dialect: "extended" },
      "from 09:30 on Monday to Friday to 17:00 on Friday (America/New_York)",
    ],
    [
      {
        windows: [work, lunch],
        invert: true,
        except: ["12-25"],
        extra: ["2026-06-13"],
        downtime: [night],
        jitter: { maxMs: 90_000, key: "a" },
      },
      overnight,
      "closed from 09:30 to 16:00 on Monday to Friday (America/New_York) and from 12:00 to 13:00 every day (America/New_York), not on 12-25, also on 2026-06-13, never from 22:00 to 06:00 the next day every day (Europe/Paris), opening up to 90 s late",
    ],
  ] as const)("describes %j", (input, options, want) => {
    expect(parseSchedule(input as never, options as never).describe()).toBe(want);
  });

  it("gives back what Nomad can express, and names what it cannot", () => {
    expect(parseSchedule(work).toNomad()).toEqual(work);
    expect(
      parseSchedule(
        {
          windows: [{ start: work.start, end: work.end }],
          except: [],
          downtime: [],
          invert: false,
          jitter: { maxMs: 0, key: "" },
        },
        { localZone: "UTC" },
      ).toNomad(),
    ).toEqual({ ...work, timezone: "" });
    const refused = (spec: object, options: object = {}): [string, string] => {
      const error = errorOf(() => parseSchedule(spec as never, options as never).toNomad());
      return [error.code, error.field];
    };
    expect(refused({ windows: [work, lunch] })).toEqual(["not-nomad", "windows"]);
    expect(refused({ windows: [work], except: ["12-25"] })).toEqual(["not-nomad", "except"]);
    expect(refused({ windows: [work], extra: ["12-25"] })).toEqual(["not-nomad", "extra"]);
    expect(refused({ windows: [work], downtime: [lunch] })).toEqual(["not-nomad", "downtime"]);
    expect(refused({ windows: [work], invert: true })).toEqual(["not-nomad", "invert"]);
    expect(refused({ windows: [work], jitter: { maxMs: 5, key: "a" } })).toEqual(["not-nomad", "jitter"]);
    expect(refused(night, overnight)).toEqual(["not-nomad", "end"]);
    expect(refused({ ...work, start: "0 9,10 * * * *" }, { dialect: "extended" })).toEqual(["not-nomad", "start"]);
  });

  it("does not change when its input does", () => {
    const window = { ...work };
    const spec = { windows: [window], except: ["2026-06-10"] };
    const schedule = parseSchedule(spec);
    window.start = "0 0 * * * *";
    spec.except.push("2026-06-11");
    spec.windows.push(lunch);
    expect(errorOf(() => schedule.toNomad())).toMatchObject({ code: "not-nomad", field: "except" });
    expect(schedule.describe()).toBe("from 09:30 to 16:00 on Monday to Friday (America/New_York), not on 2026-06-10");
  });
});

describe("lint", () => {
  const codes = (input: object, options: object = {}, now = "2026-06-01T00:00:00Z"): string[] =>
    validate(input, { ...options, now: t(now) }).map((issue) => `${issue.code} ${issue.field}`);

  it("has nothing to say about an ordinary schedule", () => {
    expect(codes(work)).toEqual([]);
    expect(parseSchedule(work).lint(t("2026-06-01T00:00:00Z"))).toEqual([]);
  });

  it("warns of exhausted years, fixed offsets and days that match by either field", () => {
    expect(codes({ ...work, start: "0 9 * * * 2025" })).toEqual(["exhausted start"]);
    expect(codes({ ...work, timezone: "EST" })).toEqual(["fixed-offset-zone timezone"]);
    expect(codes({ ...work, start: "0 9 1 * MON *" })).toEqual(["day-union start"]);
    expect(codes({ windows: [work, { ...work, timezone: "MST" }] })).toEqual(["fixed-offset-zone windows[1].timezone"]);
  });

  it("warns of edges that are skipped or come twice in the next years", () => {
    const zone = { timezone: "America/New_York" };
    expect(codes({ start: "30 2 * * * *", end: "0 5", ...zone })).toEqual(["dst-gap start"]);
    expect(codes({ start: "30 1 * * * *", end: "0 5", ...zone })).toEqual(["dst-repeat start"]);
    expect(codes({ start: "30 0 * * * *", end: "30 2", ...zone })).toEqual(["dst-gap end"]);
    expect(codes({ start: "30 0 * * * *", end: "30 1", ...zone })).toEqual(["dst-repeat end"]);
    expect(codes({ start: "30 0 * * MON *", end: "30 1", ...zone })).toEqual([]);
    expect(codes({ start: "30 0 * * * 2050", end: "30 1", ...zone })).toEqual([]);
    // A wildcard hour follows real time: a repeated start is nothing special.
    expect(codes({ start: "0 * * * * *", end: "30 *", ...zone }, overnight)).toEqual([
      "dst-gap start",
      "dst-gap end",
      "dst-repeat end",
    ]);
    const [issue] = validate({ start: "30 2 * * * *", end: "0 5", ...zone }, { now: t("2026-06-01T00:00:00Z") });
    expect(issue).toMatchObject({
      severity: "warning",
      text: "2027-03-14T02:30:00",
      message: expect.stringContaining("5 times in 5 years") as string,
    });
    expect(
      parseSchedule({ start: "30 2 * * * *", end: "0 5", ...zone }).lint(t("2026-06-01T00:00:00Z"), { years: 0.5 }),
    ).toEqual([]);
  });

  it("warns of a zone whose offsets change for good", () => {
    // Seen from 2021, Jordan ended its changes in October 2022.
    expect(codes({ start: "0 9 * * * *", end: "0 17", timezone: "Asia/Amman" }, {}, "2020-06-01T00:00:00Z")).toEqual([
      "zone-change timezone",
    ]);
    expect(
      codes({ start: "0 9 * * * *", end: "0 17", timezone: "Asia/Pyongyang" }, {}, "2014-06-01T00:00:00Z"),
    ).toEqual(["zone-change timezone"]);
  });
});

describe("zones", () => {
  it.each([
    "PST",
    "ACT",
    "+05:30",
    "europe/paris",
    "../UTC",
    "/UTC",
    "Europe\\Paris",
    "SystemV/EST5",
    "Factory",
    "",
    "posixrules",
  ])("does not know %j (hashicorp/nomad#10978)", (name) => {
    expect(zoneNamed(name)).toBeUndefined();
  });

  it.each([
    "EST",
    "EST5EDT",
    "CET",
    "UTC",
    "GMT0",
    "Zulu",
    "W-SU",
    "Asia/Calcutta",
    "America/Argentina/ComodRivadavia",
    "Etc/GMT+12",
  ])("knows the name %s and shares one zone", (name) => {
    expect(zoneNamed(name)).toBeDefined();
    expect(zoneNamed(name)).toBe(zoneNamed(name));
  });

  it("says so when the runtime lacks a zone of the database", async () => {
    const { parseSchedule: fresh } = await import("@outrider/cron-schedule");
    vi.stubGlobal("Intl", {
      DateTimeFormat: function () {
        throw new RangeError("no such zone");
      },
    });
    for (let i = 0; i < 2; i++)
      expect(errorOf(() => fresh({ ...work, timezone: "Asia/Aden" }))).toMatchObject({
        code: "timezone",
        text: "Asia/Aden",
      });
  });

  it("refuses Local instead of guessing when TZ was not understood", async () => {
    vi.stubEnv("TZ", "EST5EDT,M3.2.0,M11.1.0");
    vi.resetModules();
    const { parseSchedule: fresh } = await import("@outrider/cron-schedule");
    for (const timezone of ["", "Local", undefined]) {
      const error = errorOf(() => fresh({ ...work, timezone }));
      expect(error).toMatchObject({ code: "timezone", text: timezone ?? "" });
      expect(error.message).toContain("the time zone of this machine is not certain");
    }
    expect(fresh(work).timezones).toEqual(["America/New_York"]);
  });

  it("takes the zone of Intl where there is no process", async () => {
    vi.resetModules();
    const { localZoneName } = await import("../src/local-zone.ts");
    vi.stubGlobal("process", undefined);
    const name = localZoneName();
    vi.unstubAllGlobals();
    expect(name).toBe(new Intl.DateTimeFormat().resolvedOptions().timeZone);
  });
});
