import { describe, expect, it } from "vitest";
import { backoff } from "@outrider/backoff";
import { errorOf } from "./error-of.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

describe("backoff", () => {
  it.each([
    [HOUR, MINUTE, 1, MINUTE],
    [HOUR, MINUTE, 63, MINUTE],
    [MINUTE, HOUR, 0, MINUTE],
    [MINUTE, HOUR, 1, 2 * MINUTE],
    [MINUTE, HOUR, 5, 32 * MINUTE],
    [MINUTE, HOUR, 6, HOUR],
  ])("gives Nomad's known value for base %i, limit %i, attempt %i: %i", (base, limit, attempt, want) => {
    expect(backoff(base, limit, attempt)).toBe(want);
  });

  it("grows from the base, not from zero or twice the base", () => {
    expect([0, 1, 2, 3, 4].map((n) => backoff(1000, 5000, n))).toEqual([1000, 2000, 4000, 5000, 5000]);
  });

  it.each([
    17,
    18,
    19,
    23,
    24,
    29,
    30,
    31,
    32,
    33,
    34,
    53,
    55,
    62,
    63,
    64,
    1023,
    1024,
    1025,
    1026,
    2 ** 31,
    2 ** 32,
    2 ** 53 - 1,
    2 ** 53,
    1e308,
    Number.MAX_VALUE,
    0n + 2n ** 31n,
    2n ** 53n,
    2n ** 63n,
    2n ** 64n - 1n,
    2n ** 64n,
    2n ** 5000n,
  ])(
    "stays at the limit at attempt %s, where a shift would be negative, zero or short (hashicorp/nomad#18199)",
    (attempt) => {
      expect(backoff(1000, 60_000, attempt)).toBe(60_000);
      expect(backoff(1000, 60_000, attempt, { factor: 4 })).toBe(60_000);
      expect(backoff(1000, 60_000, attempt, { factor: Number.MAX_VALUE })).toBe(60_000);
    },
  );

  it("never leaves a factor of 1", () => {
    expect(backoff(7, 100, 2n ** 5000n, { factor: 1 })).toBe(7);
    expect(backoff(7, 100, 1e308, { factor: 1 })).toBe(7);
  });

  it("saturates with a factor just above 1, however slowly", () => {
    expect(backoff(7, 100, 1e308, { factor: 1 + Number.EPSILON })).toBe(100);
    expect(backoff(7, 100, 3, { factor: 1.5 })).toBeCloseTo(23.625, 12);
  });

  it("is 0 for base 0 or limit 0, and the limit for a base above it", () => {
    expect(backoff(0, 1000, 5)).toBe(0);
    expect(backoff(0, 1000, 1e308, { factor: 3 })).toBe(0);
    expect(backoff(1000, 0, 5)).toBe(0);
    expect(backoff(5000, 1000, 0)).toBe(1000);
  });

  it("is exact from the smallest to the largest double", () => {
    expect(backoff(Number.MIN_VALUE, Number.MAX_VALUE, 1074)).toBe(1);
    expect(backoff(Number.MIN_VALUE, Number.MAX_VALUE, 1080)).toBe(64);
    expect(backoff(Number.MIN_VALUE, Number.MAX_VALUE, 2097)).toBe(2 ** 1023);
    expect(backoff(Number.MIN_VALUE, Number.MAX_VALUE, 2098)).toBe(Number.MAX_VALUE);
    expect(backoff(1e-300, Number.MAX_VALUE, 1, { factor: 1e308 })).toBeCloseTo(1e8, 4);
    for (let n = 0; n <= 1000; n++) expect(backoff(1, Number.MAX_VALUE, n)).toBe(Number(2n ** BigInt(n)));
  });

  it.each([
    ["base", NaN],
    ["base", Infinity],
    ["base", -1],
    ["base", -Infinity],
    ["base", "5"],
    ["base", undefined],
    ["limit", NaN],
    ["limit", Infinity],
    ["limit", -1],
    ["limit", "60000"],
    ["limit", null],
    ["attempt", NaN],
    ["attempt", Infinity],
    ["attempt", -1],
    ["attempt", -1n],
    ["attempt", 1.5],
    ["attempt", "3"],
    ["factor", 0.5],
    ["factor", NaN],
    ["factor", Infinity],
  ])("refuses %s %s by name and value", (field, value) => {
    const args = { base: 1000, limit: 60_000, attempt: 3, factor: 2, [field]: value } as Record<
      string,
      unknown
    > as Record<string, never>;
    const error = errorOf(() =>
      backoff(args.base as never, args.limit as never, args.attempt as never, { factor: args.factor as never }),
    );
    expect(error).toBeInstanceOf(RangeError);
    expect(error).toMatchObject({ code: "invalid-argument", field, text: String(value), recoverable: false });
    expect(error[Symbol.for("outrider.error") as never]).toBe(true);
    expect(error.message).toContain(`${field} must be`);
    expect(error.message).toContain(String(value));
  });
});
