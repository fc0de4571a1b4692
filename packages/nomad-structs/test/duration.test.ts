import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, msToNs, nsToMs, parseDuration, timeMs, timeText } from "../src/index.ts";

describe("parseDuration", () => {
  it.each([
    ["0", 0],
    ["+0", 0],
    ["0s", 0],
    ["-0s", 0],
    ["30s", 30e9],
    ["1h15m30.918s", 4_530_918_000_000],
    ["-1.5s", -1.5e9],
    [".5ms", 500_000],
    ["5.s", 5e9],
    ["1us", 1000],
    ["1µs", 1000],
    ["1μs", 1000],
    ["100ns", 100],
    ["8760h", 31_536_000_000_000_000],
  ])("reads %s", (text, ns) => {
    expect(parseDuration(text)).toBe(ns);
  });

  it.each([
    ["", /duration like/],
    ["-", /duration like/],
    ["soon", /duration like/],
    [".s", /duration like/],
    ["5", /no unit/],
    ["5 seconds", /unknown unit/],
    ["5d", /unknown unit/],
    ["constructor", /duration like/],
    ["1toString", /unknown unit/],
    ["9".repeat(101), /duration like/],
    ["9".repeat(90) + "h", /292 years/],
  ])("refuses %j", (text, why) => {
    expect(() => parseDuration(text)).toThrow(why);
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0s"],
    [1, "1ns"],
    [1100, "1.1µs"],
    [2_200_000, "2.2ms"],
    [1.5e9, "1.5s"],
    [60e9, "1m0s"],
    [3600e9, "1h0m0s"],
    [-90e9, "-1m30s"],
    [2_345_517_645, "2.345517645s"],
  ])("writes %d as %s", (ns, text) => {
    expect(formatDuration(ns)).toBe(text);
  });

  it("is read back by parseDuration for every whole number of nanoseconds", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (ns) => {
        expect(parseDuration(formatDuration(ns))).toBe(ns === 0 ? 0 : ns);
      }),
    );
  });
});

describe("points in time", () => {
  it("turns milliseconds into nanoseconds and back", () => {
    expect(msToNs(1.5)).toBe(1_500_000);
    expect(nsToMs(1_500_000)).toBe(1.5);
  });

  it("writes times without trailing zeros and reads unset ones as undefined", () => {
    expect(timeText(0)).toBe("1970-01-01T00:00:00Z");
    expect(timeText(1_500)).toBe("1970-01-01T00:00:01.5Z");
    expect(timeText(10_000)).toBe("1970-01-01T00:00:10Z");
    expect(timeMs("1970-01-01T00:00:01.5Z")).toBe(1500);
    expect(timeMs("0001-01-01T00:00:00Z")).toBeUndefined();
    expect(timeMs(null)).toBeUndefined();
    expect(timeMs(undefined)).toBeUndefined();
    expect(timeMs("yesterday")).toBeUndefined();
  });
});
