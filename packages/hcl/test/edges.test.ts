import { describe, expect, it } from "vitest";
import { parse } from "../src/index.ts";
import { ev } from "./ev.ts";

const isUtf8 = (bytes: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
};

describe("bytes", () => {
  // Every edge of the table of well-formed sequences, and its neighbours.
  const leads = [
    0x7f, 0x80, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
  ];
  const seconds = [0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0];
  const tails = [0x41, 0x80, 0xbf, 0xc0];
  it("are called invalid exactly where the platform's decoder says so", () => {
    for (const lead of leads)
      for (const second of seconds)
        for (const third of tails)
          for (const fourth of tails) {
            const bytes = Uint8Array.of(0x61, lead, second, third, fourth, 0x0a);
            const name = [lead, second, third, fourth].map((b) => b.toString(16)).join(" ");
            const told = parse(bytes).diagnostics.filter((d) => d.code === "invalid-encoding");
            const text = new TextDecoder().decode(bytes);
            const at = new TextEncoder().encode(text.slice(0, text.indexOf("\ufffd"))).length;
            const want = isUtf8(bytes) ? [] : [at];
            expect([name, told.map((d) => d.subject.start.byte)]).toEqual([name, want]);
          }
  });
});

describe("dates", () => {
  const months = "January February March April May June July August September October November December".split(" ");
  it.each(months.map((name, i) => [name, String(i + 1).padStart(2, "0")]))("know %s", (name, month) => {
    expect(ev(`formatdate("MMMM MMM", "2026-${month}-01T00:00:00Z")`)).toBe(`${name} ${name.slice(0, 3)}`);
  });

  const days = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
  it.each(days.map((name, i) => [name, i + 4]))("know %s", (name, day) => {
    // 2026-01-04 is a Sunday.
    expect(ev(`formatdate("EEEE EEE", "2026-01-${String(day).padStart(2, "0")}T00:00:00Z")`)).toBe(
      `${name} ${name.slice(0, 3)}`,
    );
  });

  it.each([
    ["1ns", "2026-01-02T03:04:05Z"],
    ["999999us", "2026-01-02T03:04:05Z"],
    ["1000ms", "2026-01-02T03:04:06Z"],
    ["-1ns", "2026-01-02T03:04:04Z"],
    ["1.5s", "2026-01-02T03:04:06Z"],
    ["1m", "2026-01-02T03:05:05Z"],
    ["1h1m1s", "2026-01-02T04:05:06Z"],
    ["0", "2026-01-02T03:04:05Z"],
  ])("plus %s", (duration, want) => {
    expect(ev(`timeadd("2026-01-02T03:04:05Z", "${duration}")`)).toBe(want);
  });

  it.each(["2026-00-01", "2026-13-01", "2026-01-00", "2026-02-29", "2026-04-31", "26-01-01"])("%s is none", (day) => {
    expect(ev(`formatdate("D", "${day}T00:00:00Z")`)).toMatch(/^function-failed/);
  });

  it.each(["24:00:00", "00:60:00", "00:00:60"])("%s is no time of day", (time) => {
    expect(ev(`formatdate("D", "2026-01-01T${time}Z")`)).toMatch(/^function-failed/);
  });
});

describe("YAML", () => {
  const yaml = (t: string): unknown => ev("yamldecode(t)", { t });
  it.each([
    ["0", "\0"],
    ["a", "\x07"],
    ["b", "\b"],
    ["t", "\t"],
    ["n", "\n"],
    ["v", "\v"],
    ["f", "\f"],
    ["r", "\r"],
    ["e", "\x1b"],
    [" ", " "],
    ['"', '"'],
    ["/", "/"],
    ["\\", "\\"],
    ["N", "\x85"],
    ["_", "\xa0"],
    ["L", "\u2028"],
    ["P", "\u2029"],
    ["x41", "A"],
    ["u263a", "☺"],
    ["U0010ffff", "\u{10ffff}"],
  ])("the escape \\%s", (escape, want) => {
    expect(yaml(`"<\\${escape}>"`)).toBe(`<${want}>`);
  });

  it.each(["x4", "u263", "U0010fff", "U00110000", "xg1", "q"])("\\%s is no escape", (escape) => {
    expect(yaml(`"\\${escape}"`)).toMatch(/^function-failed/);
  });

  it.each<[string, unknown]>([
    ["x1", "x1"],
    ["1x", "1x"],
    ["v1.5", "v1.5"],
    ["1.5", 1.5],
    ["-1.", -1],
    ["+.5", 0.5],
    ["1e2", 100],
    ["1E+2", 100],
    ["1e", "1e"],
    [".", "."],
    ["-", [null]],
    ["0x", "0x"],
    ["0xg", "0xg"],
    ["x0x1f", "x0x1f"],
    ["0o8", "0o8"],
    ["nullx", "nullx"],
    ["xnull", "xnull"],
    ["NULL", null],
    ["Null", null],
    ["xtrue", "xtrue"],
    ["truex", "truex"],
    ["TRUE", true],
    ["FALSE", false],
    ["falsex", "falsex"],
    ["xfalse", "xfalse"],
  ])("%j alone", (text, want) => {
    expect(yaml(text)).toEqual(want);
  });

  it("block scalars may have a comment behind their header", () => {
    expect(yaml("a: | # c\n  x\n")).toEqual({ a: "x\n" });
    expect(yaml("a: >2- # c\n   x\n  y\n")).toEqual({ a: " x\ny" });
    expect(yaml("---   # c\na: 1")).toEqual({ a: 1 });
    expect(yaml("---\n\n\na: 1")).toEqual({ a: 1 });
  });
});

describe("address prefixes", () => {
  it.each([
    "10.0.0.0/x",
    "10.0.0.0/8x",
    "10.0.0.0/x8",
    "10.0.0.0/",
    "10.0.0.0/0008",
    "10.0.0.0/8/8",
    "10.0.0/8",
    "10.0.0.0.0/8",
    "256.0.0.0/8",
    "01.0.0.0/8",
    "fe80::1::/64",
    "1:2:3/64",
    "1:2:3:4:5:6:7:8:9/64",
    "g::/64",
    "::/129",
    "::1.2.3/96",
  ])("%s is none", (prefix) => {
    expect(ev(`cidrhost("${prefix}", 0)`)).toBe("function-failed 1:11");
  });

  it.each([
    ["10.1.2.3/8", "10.0.0.0"],
    ["10.1.2.3/32", "10.1.2.3"],
    ["10.1.2.3/0", "0.0.0.0"],
    ["fe80::1/64", "fe80::"],
    ["1:2:3:4:5:6:7:8/128", "1:2:3:4:5:6:7:8"],
    ["::ffff:1.2.3.4/128", "::ffff:102:304"],
    ["1:0:0:2:0:0:0:3/128", "1:0:0:2::3"],
  ])("%s begins at %s", (prefix, want) => {
    expect(ev(`cidrhost("${prefix}", 0)`)).toBe(want);
  });
});

describe("equality of what a set holds", () => {
  it("goes by kind and value: the same text and number, or maps in another order, are told apart or not", () => {
    expect(ev('distinct(["1", 1, true, "true", null, "null"])')).toEqual(["1", 1, true, "true", null, "null"]);
    expect(ev('distinct(["a", "a", "a,a", "[a]"])')).toEqual(["a", "a,a", "[a]"]);
    expect(ev("distinct([{a = 1, b = 2}, {b = 2, a = 1}, {a = 1}, {a = 2, b = 1}])")).toEqual([
      { a: 1, b: 2 },
      { a: 1 },
      { a: 2, b: 1 },
    ]);
    expect(ev('distinct([["a", "b"], ["a,b"], [["a"], "b"], ["a", "b"]])')).toEqual([
      ["a", "b"],
      ["a,b"],
      [["a"], "b"],
    ]);
    expect(ev("{a = 1} == {a = 1, b = 2}")).toBe(false);
    expect(ev("{a = 1, b = 2} == {a = 1, c = 2}")).toBe(false);
    expect(ev("[1, 2] == [1]")).toBe(false);
  });

  it("texts are ordered by their characters, also beyond the basic plane", () => {
    expect(ev('sort(["b", "a", "ab", "", "\\U0001F600", "\\uffff", "\\ud7ff", "\\ue000"])')).toEqual([
      "",
      "a",
      "ab",
      "b",
      "\ud7ff",
      "\ue000",
      "\uffff",
      "\u{1F600}",
    ]);
  });
});
