import { describe, expect, it } from "vitest";
import { createBackoff } from "@outrider/backoff";
import { ManualClock } from "@outrider/backoff/testing";
import { errorOf } from "./error-of.ts";

const take = (waits: { next(): number }, n: number): number[] => Array.from({ length: n }, () => waits.next());

describe("createBackoff", () => {
  it("counts attempts and returns to the start on reset", () => {
    const waits = createBackoff({ base: 1000, limit: 5000 });
    expect([waits.attempt, waits.peek(), waits.peek()]).toEqual([0, 1000, 1000]);
    expect(take(waits, 5)).toEqual([1000, 2000, 4000, 5000, 5000]);
    expect([waits.attempt, waits.limit]).toEqual([5, 5000]);
    waits.reset();
    expect([waits.attempt, ...take(waits, 2)]).toEqual([0, 1000, 2000]);
  });

  it("starts where it is told, as Nomad's loops that count from 1", () => {
    expect(take(createBackoff({ base: 50, limit: 60_000, startAt: 1 }), 5)).toEqual([100, 200, 400, 800, 1600]);
  });

  it("does not count beyond 2^53 − 1", () => {
    const waits = createBackoff({ base: 1, limit: 9, startAt: Number.MAX_SAFE_INTEGER });
    expect([...take(waits, 3), waits.attempt]).toEqual([9, 9, 9, Number.MAX_SAFE_INTEGER]);
  });

  it("takes another factor, fixed when it was created", () => {
    const options = { base: 250, limit: 5000, factor: 4 };
    const waits = createBackoff(options);
    options.factor = 1;
    expect(take(waits, 4)).toEqual([250, 1000, 4000, 5000]);
  });

  it.each([
    ["none", [100, 200, 400, 800, 800]],
    ["full", [25, 50, 100, 200, 200]],
    ["equal", [62.5, 125, 250, 500, 500]],
    ["nomad", [125, 225, 425, 825, 825]],
    // 100 + ¼·(3s − 100): 150, 187.5, …, and never more than the limit.
    ["decorrelated", [150, 187.5, 215.625, 236.71875, 252.5390625]],
  ] as const)("spreads %s jitter after the cap", (jitter, want) => {
    expect(take(createBackoff({ base: 100, limit: 800, jitter, random: () => 0.25 }), 5)).toEqual(want);
  });

  it.each(["full", "equal", "decorrelated", "nomad"] as const)(
    "keeps the spread of %s jitter at saturation",
    (jitter) => {
      const waits = createBackoff({ base: 1000, limit: 60_000, jitter });
      take(waits, 2000);
      const late = take(waits, 200);
      expect(new Set(late).size).toBeGreaterThan(20);
      const most = jitter === "nomad" ? 61_000 : 60_000;
      expect(late.every((delay) => delay >= 0 && delay <= most)).toBe(true);
    },
  );

  it("gives the limit for decorrelated jitter with a base above it, and 0 for base 0", () => {
    expect(take(createBackoff({ base: 900, limit: 500, jitter: "decorrelated" }), 2)).toEqual([500, 500]);
    expect(take(createBackoff({ base: 0, limit: 500, jitter: "decorrelated" }), 2)).toEqual([0, 0]);
  });

  it("survives any number of decorrelated steps near the largest double (connor4312/cockatiel#86)", () => {
    // High draws up to the largest double, then 0: an infinite range times 0 would be NaN.
    for (const draws of [[0], [0.5], [1 - Number.EPSILON], [0.9, 0.9, 0.9, 0]]) {
      let i = 0;
      const random = (): number => draws[i++ % draws.length] as number;
      const waits = createBackoff({ base: 1e307, limit: Number.MAX_VALUE, jitter: "decorrelated", random });
      expect(take(waits, 1500).every((delay) => delay >= 1e307 && delay <= Number.MAX_VALUE)).toBe(true);
    }
  });

  it.each([-0.1, 1, 2, NaN, Infinity])("refuses %d from random instead of giving a NaN delay", (value) => {
    const waits = createBackoff({ base: 1, limit: 9, jitter: "full", random: () => value });
    expect(errorOf(() => waits.next())).toMatchObject({ name: "RangeError", field: "random()", text: String(value) });
  });

  it.each([
    ["base", -1],
    ["limit", Infinity],
    ["limit", undefined],
    ["factor", 0],
    ["startAt", -1],
    ["resetAfter", NaN],
    ["jitter", "some"],
  ])("refuses the option %s %s when it is created", (field, value) => {
    const name = field === "startAt" ? "attempt" : field;
    expect(errorOf(() => createBackoff({ base: 1, limit: 9, [field]: value } as never))).toMatchObject({
      name: "RangeError",
      field: name,
    });
  });

  it("resets only after the guarded thing was healthy for long enough", () => {
    const clock = new ManualClock();
    const waits = createBackoff({ base: 1000, limit: 8000, resetAfter: 10_000, clock });
    take(waits, 3);
    // It opens and dies at once, twice: the delays keep growing.
    waits.markHealthy();
    clock.setMonotonic(9999);
    waits.markHealthy();
    waits.markFailed();
    expect([waits.attempt, waits.next()]).toEqual([3, 8000]);
    waits.markHealthy();
    clock.setMonotonic(19_998);
    expect([waits.attempt, waits.peek(), waits.next()]).toEqual([4, 8000, 8000]);
    // The failed episode is over: its time does not count for the next one.
    clock.setMonotonic(40_000);
    expect(waits.attempt).toBe(5);
    waits.markHealthy();
    clock.setMonotonic(50_000);
    expect([waits.attempt, waits.peek()]).toEqual([0, 1000]);
    waits.markFailed();
    expect(take(waits, 2)).toEqual([1000, 2000]);
  });

  it("resets at once when no resetAfter is given", () => {
    const waits = createBackoff({ base: 1, limit: 8 });
    take(waits, 3);
    waits.markHealthy();
    expect(waits.next()).toBe(1);
  });

  it("forgets a healthy time on reset", () => {
    const clock = new ManualClock();
    const waits = createBackoff({ base: 1, limit: 8, resetAfter: 10, clock });
    waits.markHealthy();
    waits.reset();
    take(waits, 2);
    clock.setMonotonic(1000);
    expect(waits.next()).toBe(4);
  });
});
