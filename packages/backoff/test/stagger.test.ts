import { describe, expect, it } from "vitest";
import { rateScaledInterval, renewAt, staggered } from "@outrider/backoff";
import { errorOf } from "./error-of.ts";

describe("staggered", () => {
  it("draws uniformly from [0, ms), and is 0 for nothing or less", () => {
    expect(staggered(200, () => 0.25)).toBe(50);
    expect(staggered(0, () => 0.25)).toBe(0);
    expect(staggered(-5, () => 0.25)).toBe(0);
    for (let i = 0; i < 100; i++) expect(staggered(10)).toBeLessThan(10);
  });

  it.each([NaN, Infinity, -Infinity])("refuses %d", (ms) => {
    expect(errorOf(() => staggered(ms))).toMatchObject({ field: "ms" });
  });
});

describe("rateScaledInterval", () => {
  it.each([
    [50, 10_000, 100, 10_000],
    [50, 10_000, 1000, 20_000],
    [200, 1000, 1_000_000, 5_000_000],
    [1 / 86_400, 5000, 1e9, 5000],
    [0, 5000, 7, 5000],
    [-3, 5000, 7, 5000],
  ])("rate %f, least %i ms, %i members: %i ms", (rate, least, members, want) => {
    expect(rateScaledInterval(rate, least, members)).toBe(want);
  });

  it("refuses what is not a number", () => {
    expect(errorOf(() => rateScaledInterval(NaN, 1, 1))).toMatchObject({ field: "perSecond" });
    expect(errorOf(() => rateScaledInterval(1, -1, 1))).toMatchObject({ field: "minMs" });
    expect(errorOf(() => rateScaledInterval(1, 1, NaN))).toMatchObject({ field: "count" });
  });
});

describe("renewAt", () => {
  it("waits for half of the time left plus up to a tenth", () => {
    expect(renewAt(101_000, 1000, { now: 1000, random: () => 0 })).toBe(50_000);
    expect(renewAt(101_000, 1000, { now: 1000, random: () => 0.5 })).toBe(52_500);
  });

  it("waits for the minimum plus up to a tenth when less is left, or it has expired", () => {
    expect(renewAt(1500, 1000, { now: 1000, random: () => 0.5 })).toBe(1050);
    expect(renewAt(0, 1000, { now: 9000, random: () => 0.5 })).toBe(1050);
  });

  it("starts from the present and draws by itself when not told otherwise", () => {
    const wait = renewAt(Date.now() + 100_000, 1000);
    expect(wait).toBeGreaterThan(49_000);
    expect(wait).toBeLessThan(55_001);
  });

  it("refuses an expiry or a present that is not a number", () => {
    expect(errorOf(() => renewAt(NaN, 1))).toMatchObject({ field: "expiryMs" });
    expect(errorOf(() => renewAt(1, 1, { now: NaN }))).toMatchObject({ field: "expiryMs" });
    expect(errorOf(() => renewAt(1, NaN))).toMatchObject({ field: "minMs" });
  });
});
