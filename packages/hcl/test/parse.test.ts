import { describe, expect, it } from "vitest";
import { parse, parseExpression, parseTemplate, sourceText } from "../src/index.ts";
import type { Block, Expression } from "../src/index.ts";
import { place } from "./ev.ts";

const first = (text: string): string => place(parse(text).diagnostics);

describe("error places", () => {
  // The places are those of the reference parser.
  it.each([
    ["a = ", "missing-expression 1:5"],
    ["a = [", "missing-expression 1:6"],
    ["a { b = 1", "single-line-block 1:10"],
    ["a {\n b = 1\n", "unclosed-block 1:3"],
    ['a = 1 b = 2\nc = "', "missing-newline 1:7"],
    ["a = 1.2.3", "invalid-number 1:5"],
    ["a = 1e99999", "invalid-number 1:5"],
    ["a = 0x1F", "missing-newline 1:6"],
    ["a = 1.", "invalid-attribute-name 1:7"],
    ["a = .5", "invalid-expression 1:5"],
    ["a = 1;b=2;c=3", "invalid-character 1:6"],
    ["a = `x`", "invalid-character 1:5"],
    ["a = b & c", "unsupported-operator 1:7"],
    ["a = b | c", "unsupported-operator 1:7"],
    ["a = ~b", "unsupported-operator 1:5"],
    ["a = b ^ c", "unsupported-operator 1:7"],
    ["a = 2 ** 3", "invalid-expression 1:8"],
    ["a { b { } }", "single-line-block 1:5"],
    ['a { b "x" = 1 }', "single-line-block 1:5"],
    ["a { b = 1\n}", "single-line-block 1:10"],
    ["a { b=1, }", "single-line-block 1:8"],
    ["a { b }", "missing-item 1:5"],
    ["a { 1 }", "missing-item 1:5"],
    ['a { "b" = 1 }', "missing-item 1:5"],
    ['"a" = 1', "quoted-argument-name 1:1"],
    ["a {} b = 1", "missing-newline 1:6"],
    ["a b c", "invalid-block 1:6"],
    ['a "b" = 1', "invalid-block 1:7"],
    ["a b\n{}", "invalid-block 1:4"],
    ['a "b${x}" {}', "invalid-block-label 1:5"],
    ['a "x\ny" {}', "newline-in-string 1:5"],
    ["a = 1,", "missing-newline 1:6"],
    ["a = (1", "unclosed-parens 1:7"],
    ["a = (1]", "unclosed-parens 1:7"],
    ["a = f(1", "unclosed-call 1:5"],
    ["a = f(1 2)", "missing-separator 1:9"],
    ["a = f(1...,2)", "unclosed-call 1:8"],
    ["a = f(,)", "invalid-expression 1:7"],
    ["a = x::1()", "unknown-function 1:8"],
    ["a = x::y", "unknown-function 1:9"],
    ["a = [1 2", "missing-separator 1:8"],
    ["a = [1", "unclosed-tuple 1:5"],
    ["a = [1\n\n2]", "missing-separator 3:1"],
    ["a = [,]", "invalid-expression 1:6"],
    ["a = { b = 1 c = 2 }", "missing-separator 1:13"],
    ["a = {b}", "missing-separator 1:7"],
    ["a = {b = }", "invalid-expression 1:10"],
    ["a = {b,c=1}", "missing-object-value 1:7"],
    ["a = {b\n = 1}", "missing-object-value 1:7"],
    ["a = {b = 1", "unclosed-object 1:5"],
    ["a = {b", "unclosed-object 1:5"],
    ['a = {"b" c}', "missing-separator 1:10"],
    ["a = b[1", "unclosed-index 1:8"],
    ["a = b[]", "invalid-expression 1:7"],
    ["a = b.", "invalid-attribute-name 1:7"],
    ['a = b."c"', "invalid-attribute-name 1:7"],
    ["a = b.0.1", "invalid-index 1:7"],
    ["a = b.*.*.c", "invalid-splat 1:9"],
    ['a = b.*."c"', "invalid-attribute-name 1:9"],
    ["a = b[*", "unclosed-index 1:8"],
    ["a = b ? c", "missing-else 1:10"],
    ["a = b ?\nc : d", "invalid-expression 1:8"],
    ["a = b +\n c", "invalid-expression 1:8"],
    ['a = "${b c}"', "extra-characters 1:10"],
    ['a = "${b"', "invalid-interpolation 1:6"],
    ['a = "${b', "invalid-interpolation 1:6"],
    ['a = "%{if b}x"', "invalid-directive 1:14"],
    ['a = "%{endif}"', "invalid-directive 1:6"],
    ['a = "%{else}"', "invalid-directive 1:6"],
    ['a = "%{foo}"', "invalid-directive 1:8"],
    ['a = "%{if}"', "invalid-expression 1:10"],
    ['a = "%{if b}x%{endfor}"', "invalid-directive 1:14"],
    ['a = "%{for x in}"', "invalid-expression 1:16"],
    ['a = "%{for x y}"', "invalid-directive 1:14"],
    ['a = "%{for 1}"', "invalid-directive 1:12"],
    ['a = "%{for x in y z}%{endfor}"', "extra-characters 1:19"],
    ['a = "%{if b}x%{else}x%{else}%{endif}"', "invalid-directive 1:22"],
    ['a = "%{if b c}x%{endif}"', "extra-characters 1:13"],
    ['a = "%{ }"', "invalid-directive 1:9"],
    ['a = "\\u00"', "invalid-escape 1:6"],
    ['a = "\\uD800x"', "invalid-escape 1:6"],
    ['a = "\\U00110000"', "invalid-escape 1:6"],
    ['a = "x\\', "invalid-character 1:7"],
    ['a = "x\ry"', "invalid-character 1:7"],
    ["a = <<EOF\nx\rb\nEOF\n", "invalid-character 2:2"],
    ["a = <<EOF\nx\nEOF", "unterminated-template 3:4"],
    ["a = << EOF\n x\nEOF\n", "invalid-expression 1:5"],
    ["a = [for x in y : z", "invalid-for 1:20"],
    ["a = [for x in y z]", "invalid-for 1:17"],
    ["a = [for x y : z]", "invalid-for 1:12"],
    ["a = [for x, 1 in y : z]", "invalid-for 1:13"],
    ["a = [for]", "invalid-for 1:9"],
    ["a = {for = 1}", "invalid-for 1:10"],
    ["a = {for x in y : z}", "invalid-for 1:19"],
    ["a = [for x in y : z => w]", "invalid-for 1:19"],
    ["a = [for x in y : z...]", "invalid-for 1:20"],
    ["a = €", "invalid-character 1:5"],
    ["a = 1\na = 2", "duplicate-argument 2:1"],
  ])("puts %j at %s", (text, want) => {
    expect(first(text)).toBe(want);
  });

  it("counts columns in grapheme clusters and offsets in bytes of UTF-8", () => {
    const at = parse('a = "日本👩‍👩‍👧e\u0301" ]').diagnostics[0]?.subject;
    expect(at?.start).toEqual({ line: 1, column: 12, byte: 34 });
    expect(JSON.parse(JSON.stringify(at))).toEqual({ filename: "", start: at?.start, end: at?.end });
  });

  it("reports several errors in one text and keeps what is right", () => {
    const { body, diagnostics } = parse(
      'a = ]\nb = 1\nc "x" {\n  d = "open\n  e = [1, 2\n  f = 3\n}\ng = (\n}\nh = 2\n',
    );
    expect(diagnostics.map((d) => d.code)).toEqual([
      "newline-in-string",
      "invalid-expression",
      "unterminated-template",
      "missing-separator",
      "invalid-expression",
      "missing-item",
    ]);
    expect(body.attributes.map((a) => a.name)).toEqual(["b", "h"]);
    expect(body.blocks.map((b) => b.body.attributes.map((a) => a.name))).toEqual([[]]);
    expect(parse("x = 1 2\ny = {\n  z = ]\n  }\nk { l = 1 m = 2 }\nn = 5").body.attributes.map((a) => a.name)).toEqual([
      "n",
    ]);
  });

  it("stops after as many diagnostics as were asked for", () => {
    const { body, diagnostics } = parse("a = ]\n".repeat(10), { maxDiagnostics: 3 });
    expect(diagnostics.map((d) => d.code)).toEqual([
      "invalid-expression",
      "invalid-expression",
      "invalid-expression",
      "too-many-errors",
    ]);
    expect(body.attributes).toEqual([]);
    expect(parse("$".repeat(5000)).diagnostics).toHaveLength(1001);
  });
});

describe("encodings", () => {
  it("ignores a byte order mark but counts its bytes", () => {
    expect(parse("\ufeffa = ]").diagnostics[0]?.subject.start).toEqual({ line: 1, column: 5, byte: 7 });
    expect(parse(new TextEncoder().encode("\ufeffa = 1")).body.attribute("a")).toBeDefined();
  });

  it("finds the byte that is not UTF-8", () => {
    const bytes = (...parts: (string | number[])[]): Uint8Array =>
      Uint8Array.from(parts.flatMap((p) => (typeof p === "string" ? [...new TextEncoder().encode(p)] : p)));
    for (const bad of [
      [0xff],
      [0xc3],
      [0xc0, 0x80],
      [0xe0, 0x80, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf0, 0x80, 0x80, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe2, 0x82],
      [0xf0, 0x9f, 0x98],
    ]) {
      const d = parse(bytes('é = "', bad, '"\n')).diagnostics[0];
      expect(d).toMatchObject({
        code: "invalid-encoding",
        subject: { start: { line: 1, column: 6, byte: 6 }, end: { byte: 7 } },
      });
    }
    expect(first("a = \ud800")).toBe("invalid-encoding 1:5");
    expect(parse(bytes("a = <<E\n日本😀é", [0xff], "\nE\n")).diagnostics[0]?.code).toBe("invalid-encoding");
    expect(parse(bytes("a", [0xff], " = 1")).diagnostics[0]?.subject.start.column).toBe(2);
  });

  it("reads only the start of a text that is wrong from end to end", () => {
    expect(place(parse(new Uint8Array(1_000_000).fill(0xff)).diagnostics)).toBe("invalid-encoding 1:1");
    expect(first("\udc00".repeat(100_000))).toBe("invalid-encoding 1:1");
  });

  it("takes CRLF for a line end", () => {
    const { body, diagnostics } = parse("a = 1 # x\r\nb {\r\n  c = <<-E\r\n    x\r\n    E\r\n}\r\n");
    expect(diagnostics).toEqual([]);
    expect(body.comments.map((c) => c.text)).toEqual(["# x"]);
    expect(first('a = "x\r\n\r\n"')).toBe("newline-in-string 1:7");
  });
});

describe("tree", () => {
  const body = parse('# top\njob "a" b { # in job\n  x = 1 /* in x */\n  g { y = f(2) } // end\n}\n# last\nz = 3\n', {
    filename: "f.hcl",
  }).body;
  const job = body.blocks[0] as Block;

  it("keeps comments with the body that they stand in", () => {
    expect(body.comments.map((c) => c.text)).toEqual(["# top", "# last"]);
    expect(job.body.comments.map((c) => c.text)).toEqual(["# in job", "/* in x */", "// end"]);
    expect(job.body.comments).toBe(job.body.comments);
    expect(job.body.blocks[0]?.body.comments).toEqual([]);
    expect(parse("a = 1 # at the end").body.comments).toHaveLength(1);
  });

  it("knows the exact range of every part of a block", () => {
    const text = (r: Parameters<typeof sourceText>[0]): string => sourceText(r);
    expect([job.typeRange, job.definitionRange, job.openBraceRange, job.closeBraceRange].map(text)).toEqual([
      "job",
      'job "a" b',
      "{",
      "}",
    ]);
    expect(job.labels.map((l) => [l.value, text(l.range)])).toEqual([
      ["a", '"a"'],
      ["b", "b"],
    ]);
    expect(text(job.range)).toMatch(/^job[^]*\}$/);
    expect(text(job.body.range)).toMatch(/^ # in job[^]*\n$/);
    expect(job.body.endRange.start).toEqual(job.closeBraceRange.start);
    const x = job.body.attribute("x");
    expect([x?.nameRange, x?.equalsRange, x?.range].map((r) => text(r as never))).toEqual(["x", "=", "x = 1"]);
    expect(job.range.filename).toBe("f.hcl");
    expect(sourceText({ filename: "", start: job.range.start, end: job.range.end })).toBe("");
  });

  it("finds arguments by name, among few and many, whatever they are called", () => {
    const many = parse(Array.from({ length: 20 }, (_, i) => `a${i} = ${i}\n`).join("") + "__proto__ = 1\n").body;
    expect(many.attribute("a19")?.name).toBe("a19");
    expect(many.attribute("__proto__")?.name).toBe("__proto__");
    expect(many.attribute("constructor")).toBeUndefined();
    expect(body.attribute("toString")).toBeUndefined();
    expect(first(`${Array.from({ length: 20 }, (_, i) => `a${i} = ${i}\n`).join("")}a3 = 1`)).toBe(
      "duplicate-argument 21:1",
    );
  });

  it.each<[string, Expression["kind"]]>([
    ["1", "literal"],
    ["true", "literal"],
    ['"a"', "template"],
    ['""', "template"],
    ['"${a}"', "templateWrap"],
    ['"a${b}"', "template"],
    ["a ? b : c", "conditional"],
    ["a + b * c", "binary"],
    ["!a", "unary"],
    ["f(a...)", "call"],
    ["x::y::f()", "call"],
    ["a.b[0].c.1", "traversal"],
    ["f().a", "relativeTraversal"],
    ["a[b]", "index"],
    ["a[true]", "index"],
    ['a["${b}"]', "index"],
    ["a.*.b", "splat"],
    ["a[*].b", "splat"],
    ["[for a in b : a]", "for"],
    ["{for a, b in c : a => b...}", "for"],
    ["[1, 2,]", "tuple"],
    ["{a = 1, b : 2}", "object"],
    ["(a)", "parens"],
  ])("reads %j as %s and knows its text", (text, kind) => {
    const { expression } = parseExpression(`\n ${text}\n`);
    expect(expression?.kind).toBe(kind);
    expect(sourceText((expression as Expression).range)).toBe(text);
  });

  it("binds operators as the language says", () => {
    const shape = (e: Expression): string =>
      e.kind === "binary" ? `(${shape(e.left)}${e.operator}${shape(e.right)})` : sourceText(e.range);
    const of = (text: string): string => shape(parseExpression(text).expression as Expression);
    expect(of("a || b && c == d < e + f * g")).toBe("(a||(b&&(c==(d<(e+(f*g))))))");
    expect(of("a - b - c % d / e")).toBe("((a-b)-((c%d)/e))");
    expect(of("a != b >= c <= d > e")).toBe("(a!=(((b>=c)<=d)>e))");
  });

  it("refuses more than one expression, and none", () => {
    expect(place(parseExpression("a b").diagnostics)).toBe("extra-characters 1:3");
    expect(place(parseExpression("").diagnostics)).toBe("missing-expression 1:1");
    expect(place(parseExpression("'").diagnostics)).toBe("invalid-character 1:1");
    expect(parseExpression("a b").expression).toBeUndefined();
  });

  it("reads a bare template", () => {
    expect(parseTemplate("a ${b} %{if c}x%{endif}\n$${d}").expression).toMatchObject({
      kind: "template",
      form: "directive",
    });
    expect(place(parseTemplate("a ${b").diagnostics)).toBe("invalid-interpolation 1:3");
    expect(place(parseTemplate("%{if a}").diagnostics)).toBe("invalid-directive 1:8");
  });
});
