import { describe, expect, it } from "vitest";
import { nextCron, parseCron } from "@outrider/cron-schedule";
import { errorOf } from "./error-of.ts";
import { iso } from "./vectors.ts";

const t = (text: string): Date => new Date(text);

describe("parseCron", () => {
  it.each([
    ["@yearly", "2027-01-01T00:00:00Z"],
    ["@annually", "2027-01-01T00:00:00Z"],
    ["@monthly", "2026-07-01T00:00:00Z"],
    ["@weekly", "2026-06-14T00:00:00Z"],
    ["@daily", "2026-06-11T00:00:00Z"],
    ["@hourly", "2026-06-10T13:00:00Z"],
  ])("knows %s", (expression, want) => {
    expect(iso(parseCron(expression, { fields: 5 }).next(t("2026-06-10T12:00:00Z")))).toBe(want);
  });

  it.each(["@midnight", "@every 5m", "@reboot", "@dail", "* * * *", "", "   ", "5"])("refuses %j", (expression) => {
    expect(errorOf(() => parseCron(expression))).toMatchObject({ code: "cron-fields", field: "cron" });
  });

  it("counts fields as asked (hashicorp/nomad#23753)", () => {
    expect(errorOf(() => parseCron("0 9 * * * *", { fields: 5 })).message).toContain("want 5 fields, got 6");
    expect(parseCron("0 9 * * *", { fields: 5 }).expression).toBe("0 9 * * *");
    expect(errorOf(() => parseCron(5 as never)).code).toBe("cron-fields");
    expect(errorOf(() => parseCron("*".repeat(5000))).code).toBe("cron-fields");
  });

  it("warns of what is valid and yet surprising", () => {
    const codes = (expression: string) => parseCron(expression).warnings.map((w) => w.code);
    expect(codes("0 9 * * *")).toEqual([]);
    expect(codes("* * */4 * * * *")).toEqual(["every-second"]);
    expect(codes("? 0 9 * * * *")).toEqual(["every-second"]);
    expect(codes("0,30 0 9 * * * *")).toEqual(["every-second"]);
    expect(codes("40,50 0 9 * * * *")).toEqual(["every-second"]);
    expect(codes("40 0 9 * * * *")).toEqual([]);
    expect(codes("0 0 9 1 * MON * x y")).toEqual(["extra-fields", "day-union"]);
  });

  it("refuses faults by code", () => {
    expect(errorOf(() => parseCron("61 9 * * *"))).toMatchObject({
      code: "cron-syntax",
      text: "61 9 * * *",
      message: expect.stringContaining("syntax error in minute field: '61'") as string,
    });
    expect(errorOf(() => parseCron("0 9 30 2 *")).code).toBe("never");
    expect(errorOf(() => parseCron("0 9 * * *", { timezone: "Mars/Base" })).code).toBe("timezone");
    expect(errorOf(() => parseCron("0 9 * * *", { missing: "later" as never }))).toMatchObject({
      code: "option",
      field: "missing",
    });
    expect(errorOf(() => parseCron("0 9 * * *", { repeated: "never" as never }))).toMatchObject({
      code: "option",
      field: "repeated",
    });
    expect(errorOf(() => parseCron("0 9 * * *").next(NaN))).toMatchObject({ code: "instant", field: "from" });
    expect(errorOf(() => parseCron("0 9 * * *").previous(new Date(NaN))).code).toBe("instant");
  });

  it("is in UTC unless a zone is named", () => {
    expect(parseCron("0 9 * * *").timezone).toBe("UTC");
    expect(parseCron("0 9 * * *", { timezone: "" }).timezone).toBe("UTC");
    expect(iso(parseCron("0 9 * * *", { timezone: "Asia/Kathmandu" }).next(t("2026-06-10T00:00:00Z")))).toBe(
      "2026-06-10T03:15:00Z",
    );
  });

  it("answers strictly later and strictly earlier, ignoring fractions of a second", () => {
    const cron = parseCron("0 9 * * *");
    expect(iso(cron.next(t("2026-06-10T09:00:00.000Z")))).toBe("2026-06-11T09:00:00Z");
    expect(iso(cron.next(t("2026-06-10T09:00:00.900Z")))).toBe("2026-06-11T09:00:00Z");
    expect(iso(cron.next(t("2026-06-10T08:59:59.900Z")))).toBe("2026-06-10T09:00:00Z");
    expect(iso(cron.previous(t("2026-06-10T09:00:00.000Z")))).toBe("2026-06-09T09:00:00Z");
    expect(iso(cron.previous(t("2026-06-10T09:00:00.001Z")))).toBe("2026-06-10T09:00:00Z");
  });

  it("finds the seconds before and after within minutes and hours", () => {
    const cron = parseCron("30 5,20 9,17 * * * *");
    const at = (time: string): Date => t(`2026-06-10T${time}Z`);
    const before = ["09:05:10", "09:05:31", "09:20:10", "09:30:00", "16:00:00", "17:05:30", "17:20:31"].map((time) =>
      iso(cron.previous(at(time)))?.slice(8, 19),
    );
    expect(before).toEqual([
      "09T17:20:30",
      "10T09:05:30",
      "10T09:05:30",
      "10T09:20:30",
      "10T09:20:30",
      "10T09:20:30",
      "10T17:20:30",
    ]);
    const after = ["09:05:10", "09:05:30", "09:20:29", "09:20:30", "16:00:00", "17:20:30"].map((time) =>
      iso(cron.next(at(time)))?.slice(8, 19),
    );
    expect(after).toEqual(["10T09:05:30", "10T09:20:30", "10T09:20:30", "10T17:05:30", "10T17:05:30", "11T09:05:30"]);
  });

  it.each([
    ["skip", "both", ["2026-03-09T06:30:00Z", "2026-03-10T06:30:00Z"]],
    ["shift", "both", ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]],
  ] as const)("with missing times to %s", (missing, repeated, want) => {
    const cron = parseCron("30 2 * * *", { timezone: "America/New_York", missing, repeated });
    const first = cron.next(t("2026-03-08T00:00:00Z")) as Date;
    expect([iso(first), iso(cron.next(first))]).toEqual(want);
    // And back again.
    const after = cron.next(cron.next(first) as Date) as Date;
    const last = cron.previous(after) as Date;
    expect([iso(cron.previous(last)), iso(last)]).toEqual(want);
  });

  it.each([
    ["both", ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"]],
    ["first", ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z", "2026-11-03T06:30:00Z"]],
    ["last", ["2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z", "2026-11-03T06:30:00Z"]],
  ] as const)("with repeated times at %s", (repeated, want) => {
    const cron = parseCron("30 1 * * *", { timezone: "America/New_York", repeated });
    const seen: (string | null)[] = [];
    for (let at: Date | null = t("2026-11-01T00:00:00Z"); seen.length < 3;) {
      at = cron.next(at as Date);
      seen.push(iso(at));
    }
    expect(seen).toEqual(want);
  });

  it("follows real time with a wildcard hour, whatever the policy", () => {
    const cron = parseCron("30 * * * *", { timezone: "America/New_York", missing: "shift", repeated: "first" });
    expect(iso(cron.next(t("2026-11-01T05:30:00Z")))).toBe("2026-11-01T06:30:00Z");
    expect(iso(cron.next(t("2026-03-08T06:30:00Z")))).toBe("2026-03-08T07:30:00Z");
  });

  it("gives the same answers for more texts than it remembers", () => {
    const from = t("2026-01-01T00:00:00Z");
    for (let pair = 0; pair < 600; pair++) {
      const [a, b] = [pair % 60, Math.floor(pair / 60)];
      const list = `${a},${b} * * * *`;
      expect(iso(parseCron(list).next(from.getTime() - 1000))?.slice(14, 16)).toBe(
        String(Math.min(a, b)).padStart(2, "0"),
      );
    }
  });

  it("ends instead of searching for ever", () => {
    const over = parseCron("0 9 * * * 2025");
    expect(over.next(t("2026-01-01T00:00:00Z"))).toBeNull();
    expect(iso(over.previous(t("2090-01-01T00:00:00Z")))).toBe("2025-12-31T09:00:00Z");
    expect(over.previous(t("2025-01-01T09:00:00Z"))).toBeNull();
    expect(parseCron("0 9 * * *").previous(0)).toBeNull();
    expect(parseCron("0 9 * * *").next(t("2099-12-31T09:00:00Z"))).toBeNull();
    expect(iso(parseCron("0 9 * * *").next(-8e15))).toBe("1970-01-01T09:00:00Z");
    expect(iso(parseCron("0 9 29 2 *").next(t("2096-03-01T00:00:00Z")))).toBeNull();
  });

  it("lists runs lazily, up to a count or an instant", () => {
    const cron = parseCron("0 9 * * MON-FRI", { timezone: "Europe/Berlin" });
    const from = t("2026-06-12T07:00:00Z");
    expect([...cron.runs(from, { count: 3 })].map(iso)).toEqual([
      "2026-06-15T07:00:00Z",
      "2026-06-16T07:00:00Z",
      "2026-06-17T07:00:00Z",
    ]);
    expect([...cron.runs(from, { until: t("2026-06-16T07:00:00Z") })]).toHaveLength(1);
    expect([...cron.runs(from, { count: 0 })]).toEqual([]);
    expect([...parseCron("0 9 1 1 * 2027").runs(from)].map(iso)).toEqual(["2027-01-01T09:00:00Z"]);
    const endless = cron.runs(from);
    expect(iso(endless.next().value as Date)).toBe("2026-06-15T07:00:00Z");
    expect(iso(endless.next().value as Date)).toBe("2026-06-16T07:00:00Z");
    expect(errorOf(() => [...cron.runs(from, { until: NaN })])).toMatchObject({ code: "instant", field: "until" });
  });

  it("tells whether a second matches, in its own zone and by its policy", () => {
    const cron = parseCron("0 9 * * MON-FRI", { timezone: "Europe/Berlin" });
    expect(cron.matches(t("2026-06-12T07:00:00.999Z"))).toBe(true);
    expect(cron.matches(t("2026-06-12T07:00:01Z"))).toBe(false);
    expect(cron.matches(t("2026-06-12T06:59:59Z"))).toBe(false);
    expect(cron.matches(t("2026-06-13T07:00:00Z"))).toBe(false);
    const night = (repeated: "first" | "last" | "both") =>
      ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"].map((at) =>
        parseCron("30 2 * * *", { timezone: "Europe/Berlin", repeated }).matches(t(at)),
      );
    expect([night("first"), night("last"), night("both")]).toEqual([
      [true, false],
      [false, true],
      [true, true],
    ]);
    expect(parseCron("0 9 1 1 * 2027").matches(t("2098-01-01T09:00:00Z"))).toBe(false);
    expect(errorOf(() => cron.matches(NaN))).toMatchObject({ code: "instant", field: "at" });
  });

  it("describes itself", () => {
    expect(parseCron("30 9 * * MON-FRI").describe()).toBe("at 09:30 on Monday to Friday");
    expect(parseCron("* 30 9 * * * *").describe()).toBe("at 09:30, every second every day");
    expect(parseCron("0,30 */10 9-10 L * FRIL *").describe()).toBe(
      "at minute 00, 10, 20, 30, 40, 50 of hours 09, 10, second 0, 30 on the last day of the month or the last Friday of the month",
    );
  });
});

describe("nextCron", () => {
  it("takes the earliest and ignores what is exhausted, in any order (hashicorp/nomad periodic.crons)", () => {
    const over = parseCron("0 9 * * * 2020");
    const nine = parseCron("0 9 * * *");
    const eight = parseCron("0 8 * * *");
    const from = t("2026-06-10T00:00:00Z");
    for (const crons of [
      [over, nine, eight],
      [eight, over, nine],
      [nine, eight, over],
    ])
      expect(iso(nextCron(crons, from))).toBe("2026-06-10T08:00:00Z");
    expect(nextCron([over], from)).toBeNull();
    expect(nextCron([], from)).toBeNull();
  });
});
