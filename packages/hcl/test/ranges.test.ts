import { describe, expect, it } from "vitest";
import { keyword, parseExpression, sourceText, startRange, staticString, traversalText } from "../src/index.ts";
import type { Expression, TraversalExpression } from "../src/index.ts";

const e = (text: string): Expression => parseExpression(text).expression as Expression;

describe("startRange", () => {
  it.each([
    ['"text"', "text"],
    ['"${abc}"', "abc"],
    ["5 + 6", "5"],
    ["-5", "-"],
    ["f(x)", "f("],
    ["f(x).y", "f("],
    ["a.b.c", "a.b.c"],
    ["a[b]", "a"],
    ["a.b[*].c", "a.b"],
    ["[1, 2]", "["],
    ["{a = 1}", "{"],
    ["[for x in y : x]", "["],
    ["(5)", "5"],
    ["true ? 1 : 2", "true"],
  ])("of %s is %s", (text, want) => {
    expect(sourceText(startRange(e(text)))).toBe(want);
  });

  it("works for parts that are no expression of their own, and for ranges made by hand", () => {
    const object = e("{a = 1}") as Expression & { kind: "object" };
    expect(sourceText(startRange(object.items[0]?.key as Expression))).toBe("a");
    const pos = { line: 1, column: 1, byte: 0 };
    const range = { filename: "", start: pos, end: pos };
    expect(startRange({ kind: "tuple", items: [], range })).toBe(range);
    expect(startRange({ kind: "template", form: "quoted", parts: [], range })).toBe(range);
    const call = e("f(x)") as Expression & { kind: "call" };
    expect(startRange({ ...call, nameRange: range })).toMatchObject({ start: pos, end: { column: 3 } });
  });
});

describe("texts", () => {
  it("of traversals", () => {
    const t = e('a.b["c"][0].1') as TraversalExpression;
    expect(traversalText(t)).toBe('a.b["c"][0].1');
    const pos = { line: 1, column: 1, byte: 0 };
    expect(traversalText({ ...t, range: { filename: "", start: pos, end: pos } })).toBe('a.b["c"][0][1]');
  });

  it("of strings without sequences", () => {
    expect([e('"a\\n"'), e("<<E\na\nb\nE\n"), e('"${x}"'), e('"a${x}"'), e("5"), e('""')].map(staticString)).toEqual([
      "a\n",
      "a\nb\n",
      undefined,
      undefined,
      undefined,
      "",
    ]);
  });

  it("of bare words", () => {
    expect([e("word"), e("true"), e("null"), e("a.b"), e("5"), e('"x"')].map(keyword)).toEqual([
      "word",
      "true",
      "null",
      undefined,
      undefined,
      undefined,
    ]);
  });
});
