/** The bytes of values at the borders of msgpack's forms, by the format's own tables. */
import { HclNumber, type Value } from "@outrider/hcl";
import { describe, expect, it } from "vitest";
import { encodeValue } from "../src/config/encode-value.ts";
import { decodeMsgpack } from "../src/index.ts";

const hex = (value: Value): string => Buffer.from(encodeValue(value)).toString("hex");
const head = (value: Value, bytes: number): string => hex(value).slice(0, bytes * 2);

describe("an integer takes the shortest form", () => {
  it.each<[number, string]>([
    [0, "00"],
    [127, "7f"],
    [128, "cc80"],
    [255, "ccff"],
    [256, "cd0100"],
    [65_535, "cdffff"],
    [65_536, "ce00010000"],
    [4_294_967_295, "ceffffffff"],
    [4_294_967_296, "cf0000000100000000"],
    [-1, "ff"],
    [-32, "e0"],
    [-33, "d0df"],
    [-128, "d080"],
    [-129, "d1ff7f"],
    [-32_768, "d18000"],
    [-32_769, "d2ffff7fff"],
    [-2_147_483_648, "d280000000"],
    [-2_147_483_649, "d3ffffffff7fffffff"],
  ])("%d", (value, bytes) => {
    expect(hex(value)).toBe(bytes);
  });

  it("up to 64 bits with a sign, and is a text beyond", () => {
    const big = (text: string): Value => {
      const value = HclNumber.parse(text);
      if (value === undefined) throw new Error(`no number: ${text}`);
      return value;
    };
    expect(hex(big("9223372036854775807"))).toBe("cf7fffffffffffffff");
    expect(hex(big("-9223372036854775808"))).toBe("d38000000000000000");
    expect(hex(big("9223372036854775808"))).toBe(`b3${Buffer.from("9223372036854775808").toString("hex")}`);
    expect(hex(big("-9223372036854775809"))).toBe(`b4${Buffer.from("-9223372036854775809").toString("hex")}`);
  });
});

describe("a fraction", () => {
  it.each<[number, string]>([
    [0.5, "cb3fe0000000000000"],
    [-0.25, "cbbfd0000000000000"],
    [1.5, "cb3ff8000000000000"],
    [4503599627370495.5, "cb432fffffffffffff"],
    [0.1, "a3302e31"],
    [-0.1, "a42d302e31"],
    [0.3, "a3302e33"],
    [2.2, "a3322e32"],
  ])("that is exactly a double is one, any other is its text: %d", (value, bytes) => {
    expect(hex(value)).toBe(bytes);
  });
});

describe("a text, a list and a map announce their length by the shortest form", () => {
  it.each<[number, string]>([
    [0, "a0"],
    [31, "bf"],
    [32, "d920"],
    [255, "d9ff"],
    [256, "da0100"],
    [65_535, "daffff"],
    [65_536, "db00010000"],
  ])("a text of %d bytes", (length, bytes) => {
    expect(head("x".repeat(length), bytes.length / 2)).toBe(bytes);
  });

  it.each<[number, string]>([
    [0, "90"],
    [15, "9f"],
    [16, "dc0010"],
    [255, "dc00ff"],
    [65_535, "dcffff"],
    [65_536, "dd00010000"],
  ])("a list of %d", (length, bytes) => {
    expect(head(Array<Value>(length).fill(null), bytes.length / 2)).toBe(bytes);
  });

  it.each<[number, string]>([
    [0, "80"],
    [15, "8f"],
    [16, "de0010"],
    [255, "de00ff"],
    [65_536, "df00010000"],
  ])("a map of %d", (length, bytes) => {
    const map = new Map<string, Value>(Array.from({ length }, (_, i) => [`k${i}`, null]));
    expect(head(map, bytes.length / 2)).toBe(bytes);
  });
});

it("a value that is larger than any buffer so far is written whole", () => {
  const words = Array.from({ length: 300 }, (_, i) => `word number ${i}`);
  const value = ["x".repeat(256), "y".repeat(5_000), words, 2 ** 40, 0.5, true, false, null];
  expect(decodeMsgpack(encodeValue(value))).toEqual(value);
  for (const length of [250, 251, 252, 253, 254, 255, 256, 257]) {
    const edge = ["z".repeat(length), 2 ** 40, 1.5, 70_000];
    expect(decodeMsgpack(encodeValue(edge))).toEqual(edge);
  }
});

it("keys are sorted by the bytes of their normal form", () => {
  const map = new Map<string, Value>([
    ["e\u0301", 1],
    ["z", 2],
    ["\u{10000}", 3],
    ["\uFF5E", 4],
  ]);
  expect(Object.keys(decodeMsgpack(encodeValue(map)) as object)).toEqual(["z", "\u00e9", "\uFF5E", "\u{10000}"]);
});
