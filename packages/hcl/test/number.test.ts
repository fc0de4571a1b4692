import { describe, expect, it } from "vitest";
import { HclNumber, numberText } from "../src/index.ts";
import { ev } from "./ev.ts";

const n = (text: string): HclNumber => HclNumber.parse(text) as HclNumber;

describe("HclNumber", () => {
  it.each([
    ["0", "0"],
    ["-0", "0"],
    ["007", "7"],
    ["1.50", "1.5"],
    ["-1.5e3", "-1500"],
    ["1e-3", "0.001"],
    ["+2E2", "200"],
    ["123456789012345678901234567890", "123456789012345678901234567890"],
    ["0.1", "0.1"],
    [
      "3.141592653589793238462643383279502884197169399375105820974944",
      "3.141592653589793238462643383279502884197169399375105820974944",
    ],
    ["1e400", `1${"0".repeat(400)}`],
    ["1e-400", `0.${"0".repeat(399)}1`],
    ["1267650600228229401496703205376", "1267650600228229401496703205376"],
    ["0.5", "0.5"],
    ["1e200", `1${"0".repeat(200)}`],
  ])("reads %s as %s", (text, want) => {
    expect(n(text).toString()).toBe(want);
  });

  it.each(["", "x", "1.", ".5", "1e", "--1", "0x1", "1e10001", "1e-10001", " 1", "1_0", "9".repeat(100_001)])(
    "refuses %.20s",
    (text) => {
      expect(HclNumber.parse(text)).toBeUndefined();
    },
  );

  it("tells whole numbers and cuts fractions off", () => {
    expect([n("1.5").isInteger(), n("1e30").isInteger()]).toEqual([false, true]);
    expect([n("1.9").toBigInt(), n("-1.9").toBigInt(), n("1e20").toBigInt()]).toEqual([
      1n,
      -1n,
      100000000000000000000n,
    ]);
    expect([n("-1").sign, n("0").sign, n("2").sign]).toEqual([-1, 0, 1]);
    expect(JSON.stringify(n("1.5"))).toBe('"1.5"');
  });

  it.each([
    "0",
    "1",
    "-0.1",
    "1e22",
    "123456789.123456789",
    "9007199254740993",
    "1.7976931348623157e308",
    "1e309",
    "5e-324",
    "2.2250738585072014e-308",
    "4.9e-324",
    "1e-400",
    "0.30000000000000004",
    "8.5e-310",
  ])("rounds %s to the JavaScript number that JavaScript reads", (text) => {
    expect(n(text).toNumber()).toBe(Number(text));
  });

  it("is exact to 512 bits", () => {
    // The last digits tell the number of 512 bits from its neighbours.
    expect(ev("1 / 3")).toMatch(/^0\.3{154}\d{1,2}$/);
    expect(ev("0.1 * 3")).toBe(0.3);
    expect(ev("2 / 3")).toMatch(/^0\.6{153,154}7?$/);
    expect(ev("9007199254740993 * 9007199254740993")).toBe(81129638414606699710187514626049n);
    expect(ev("1e100 + 1 - 1e100")).toBe(1);
    expect(ev("1e200 + 1 - 1e200")).toBe(0);
    expect(ev("0.5 + 12345678901234567890")).toBe("12345678901234567890.5");
    expect(ev("12345678901234567890 % 1000")).toBe(890);
    expect(ev("12345678901234567890 + 0.0 == 12345678901234567890")).toBe(true);
    expect(ev("1e400 / 1e400")).toBe(1);
    expect(ev("0 * 1e400")).toBe(0);
    expect(ev("0 + 1e400 - 1e400")).toBe(0);
    expect(ev("1e400 + 1e-400 == 1e400")).toBe(true);
    expect(ev("1e-400 - 1e400 == -1e400")).toBe(true);
  });

  it("rounds half to even", () => {
    // 2^512 + 1 lies between two numbers of 512 bits.
    const two512 = (2n ** 512n).toString();
    expect(ev(`${2n ** 512n + 1n} == ${two512}`)).toBe(true);
    expect(ev(`${2n ** 512n + 3n} == ${2n ** 512n + 4n}`)).toBe(true);
    expect(ev(`${2n ** 513n + 3n} == ${2n ** 513n + 4n}`)).toBe(true);
    expect(ev(`${2n ** 513n + 1n} == ${2n ** 513n}`)).toBe(true);
  });

  it("writes numbers without exponent", () => {
    expect([1, -0.5, 1e21, 1e-7, Infinity, -Infinity, NaN].map(numberText)).toEqual([
      "1",
      "-0.5",
      "1000000000000000000000",
      "0.0000001",
      "inf",
      "-inf",
      "nan",
    ]);
    expect(numberText(n("12345678901234567890"))).toBe("12345678901234567890");
  });
});
