import { describe, expect, it } from "vitest";
import { ev } from "./ev.ts";

const yaml = (text: string): unknown => ev("yamldecode(t)", { t: text });

describe("yamldecode", () => {
  it.each<[string, unknown]>([
    ["", null],
    ["# only a comment\n", null],
    ["k: v", { k: "v" }],
    ["---\nk: v\n...\n", { k: "v" }],
    ["--- k", "k"],
    ["--- # c\nk: 1", { k: 1 }],
    ["a: 1\nb: -1.5\nc: 1e3\nd: 0x1F\ne: 0o17\nf: .5\ng: +1\nh: 1.\ni: 12345678901234567890\nj: 1_000", { a: 1, b: -1.5, c: 1000, d: 31, e: 15, f: 0.5, g: 1, h: 1, i: 12345678901234567890n, j: "1_000" }],
    ["a: true\nb: False\nc: null\nd: ~\ne:\nf: yes", { a: true, b: false, c: null, d: null, e: null, f: "yes" }],
    ["- a\n- - b\n  - c\n- d: 1\n  e: 2\n-\n  f\n-\n", ["a", ["b", "c"], { d: 1, e: 2 }, "f", null]],
    ["- # c\n  x: 1\n", [{ x: 1 }]],
    ["a:\n- 1\n- 2\nb:\n  - 3\n", { a: [1, 2], b: [3] }],
    ["a:\n  b:\n    c: 1 # comment\n  d: x#y\n", { a: { b: { c: 1 }, d: "x#y" } }],
    ["a: # c\n  b: 1\n", { a: { b: 1 } }],
    ['"a b": 1\n\'c\'\'d\': 2\n"e\\n": 3', { "a b": 1, "c'd": 2, "e\n": 3 }],
    ["a: \"x\\ty\\u00e9\\x41\\U0001F600\\\\\\\"\\/\\0\"", { a: 'x\tyéA😀\\"/\0' }],
    ["a: 'it''s'", { a: "it's" }],
    ["a: \"x\n  y\n\n  z\"", { a: "x y\nz" }],
    ["a: \"x\\\n  y\\n\"", { a: "xy\n" }],
    ["a: plain\n  goes on\n  here\nb: 1", { a: "plain goes on here", b: 1 }],
    ["a: http://x/y:z", { a: "http://x/y:z" }],
    ["-1: x\n", { "-1": "x" }],
    ["[a, 'b', \"c\", [1, 2,], {d: e, \"f\": 1, g: , h}, ]", ["a", "b", "c", [1, 2], { d: "e", f: 1, g: null, h: null }]],
    ["a: [1,\n  2, # c\n  3]\nb: {}", { a: [1, 2, 3], b: {} }],
    ["{a: http://x, b: x#y}", { a: "http://x", b: "x#y" }],
    ["a: |\n  x\n   y\n\n  z\nb: 1", { a: "x\n y\n\nz\n", b: 1 }],
    ["a: |-\n  x\n\nb: |+\n  y\n\nc: 1", { a: "x", b: "y\n\n", c: 1 }],
    ["a: >\n  x\n  y\n\n  z\n    w\n  v\n", { a: "x y\nz\n  w\nv\n" }],
    ["a: |2\n    x\n  y\n", { a: "  x\ny\n" }],
    ["- |\n x\n- >-\n x\n y\n", ["x\n", "x y"]],
    ["|\n  x\n", "x\n"],
    ["a: |\nb: 1", { a: "", b: 1 }],
    ["a: |+\n\n\nb: 1", { a: "\n\n", b: 1 }],
    ["a: 1\r\nb: 2\r\n", { a: 1, b: 2 }],
    ['"just a text"', "just a text"],
    ["text", "text"],
    ["[]", []],
    ["[1 2]", ["1 2"]],
    ["a: 1\n...\n# end\n", { a: 1 }],
  ])("reads %j", (text, want) => {
    expect(yaml(text)).toEqual(want);
  });

  it.each([
    "a: &x 1", "a: *x", "a: !t 1", "%YAML 1.2\n---\na: 1", "a: 1\n---\nb: 2", "a: 1\n...\nb: 2", "1\n---\n2", "a: 1\na: 2", "\ta: 1", "a: [1", "a: {b: 1", "a: {b 1 2: 3", 'a: "x', "a: 'x", 'a: "\\q"', 'a: "\\u00"', 'a: "\\xZZ"', 'a: "x" y', "a: b: c",
    "a: x\n  b: 1", "a: 1\n b: 2", "a:\n  b: 1\n c: 2", "- a\nb: 1", "a: 1\nb", "[&a]", "[*a]", "{[1]: 2}", "{a: \"x\" y}", "[".repeat(300), `${"- ".repeat(300)}a`, "a: [\"x\" \"y\"]", "[,]", 'a: "x\\',
  ])("refuses %j", (text) => {
    expect(yaml(text)).toBe("function-failed 1:12");
  });
});
