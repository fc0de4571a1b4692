import { describe, expect, it, vi } from "vitest";
import { evaluate, parse, parseExpression, parseTemplate, stdlib } from "../src/index.ts";
import { ev, place } from "./ev.ts";

// The machine may be busy: time is no part of what is tested here.
vi.setConfig({ testTimeout: 60_000 });

const N = 10_000;
const nested: Record<string, string> = {
  parentheses: `a = ${"(".repeat(N)}1${")".repeat(N)}`,
  "unclosed parentheses": `a = ${"(".repeat(N)}`,
  lists: `a = ${"[".repeat(N)}${"]".repeat(N)}`,
  objects: `a = ${"{x=".repeat(N)}1${"}".repeat(N)}`,
  blocks: "a {\n".repeat(N) + "}\n".repeat(N),
  negations: `a = ${"!".repeat(N)}true`,
  minuses: `a = ${"-".repeat(N)}1`,
  conditionals: `a = ${"true ? ".repeat(N)}1`,
  templates: `a = ${'"${'.repeat(N)}1${'}"'.repeat(N)}`,
  heredocs: `a = ${"<<E\n${".repeat(N)}`,
  indexes: `a = x${"[y]".repeat(N)}`,
  "nested indexes": `a = ${"x[".repeat(N)}`,
  splats: `a = x${"[*]".repeat(N)}`,
  directives: `a = "${"%{if true}".repeat(N)}"`,
  "for directives": `a = "${"%{for x in y}".repeat(N)}"`,
  "for expressions": `a = ${"[for x in ".repeat(N)}`,
  calls: `a = ${"f(".repeat(N)}`,
};

describe("nesting", () => {
  it.each(Object.entries(nested))("ends 10,000 %s in one diagnostic", (_, text) => {
    expect(parse(text).diagnostics.map((d) => d.code)).toEqual(["too-deep"]);
  });

  it.each(Object.entries(nested))("does not overflow the stack on %s without a limit", (_, text) => {
    const { diagnostics } = parse(text, { maxDepth: 1e9 });
    expect(diagnostics.length).toBeLessThan(2);
  });

  it("has no limit for long sums and traversals", () => {
    expect(ev(`1${" + 1".repeat(50_000)}`)).toBe(50_001);
    expect(ev(`x${".y".repeat(50_000)}`, {}, { unknownTraversal: "keep-text" })).toHaveLength(100_004);
  });

  it("bounds depth and stack of an evaluation", () => {
    const deep = parseExpression(`${"[".repeat(400)}1${"]".repeat(400)}`).expression;
    expect(place(evaluate(deep as never, { limits: { maxDepth: 100 } }).diagnostics)).toBe("limit-exceeded 1:101");
    const chain = parseExpression(`${"true ? 1 : ".repeat(20_000)}1`, { maxDepth: 1e9 });
    if (chain.expression !== undefined) {
      expect(evaluate(chain.expression, { limits: { maxDepth: 1e9 } }).diagnostics.map((d) => d.code)).toEqual([
        "limit-exceeded",
      ]);
    }
    let value: unknown[] = [];
    for (let i = 0; i < 100_000; i++) value = [value];
    expect(
      evaluate(parseExpression("flatten(x)").expression as never, {
        variables: { x: value as never },
        functions: stdlib,
      }).diagnostics.map((d) => d.code),
    ).toEqual(["limit-exceeded"]);
  });
});

describe("size", () => {
  const fill = (unit: string, megabytes: number): string =>
    unit.repeat(Math.ceil((megabytes * 1024 * 1024) / unit.length));
  it.each(["{", "x", '"${', "$", "a = ]\n", "<<E\n", 'a = "x\n', "a "])("ends 1 MB of %j in diagnostics", (unit) => {
    const { diagnostics } = parse(fill(unit, 1));
    expect(diagnostics.length).toBeGreaterThan(0);
    expect(diagnostics.length).toBeLessThan(1002);
  });

  it("ends 10 MB of open braces in one diagnostic", () => {
    expect(place(parse(fill("{", 10)).diagnostics)).toBe("missing-item 1:1");
  });

  it("takes 10 MB of text in a heredoc", () => {
    expect(parse(`a = <<E\n${fill("line of text\n", 10)}E\n`).diagnostics).toEqual([]);
  });

  it("refuses a text above the limit without reading it", () => {
    expect(parse("a = 1", { maxBytes: 4 })).toMatchObject({
      diagnostics: [{ code: "too-large" }],
      body: { attributes: [] },
    });
    expect(parseExpression(new Uint8Array(5), { maxBytes: 4 }).diagnostics[0]?.code).toBe("too-large");
  });
});

describe("work", () => {
  const L = "range(1000)";
  it.each([
    `[for a in ${L} : [for b in ${L} : [for c in ${L} : c]]]`,
    `setproduct(${L}, ${L}, ${L})`,
    'indent(1000000000, "a\\nb")',
    'format("%99999999s", "a")',
    `replace("${"a".repeat(50_000)}", "a", "${"b".repeat(5_000)}")`,
    `join("${"x".repeat(50_000)}", [for a in ${L} : "a"])`,
    `[for q in ${L} : "${"x".repeat(20_000)}${"${q}"}"]`,
    `regex_replace("${"a".repeat(3_000)}", "((a{0,30}){0,30}){0,30}b", "x")`,
    `can([for a in ${L} : [for b in ${L} : [for c in ${L} : c]]])`,
    `true ? 1 : [for a in ${L} : [for b in ${L} : [for c in ${L} : c]]]`,
  ])("gives %.60s… up in bounded steps", (text) => {
    expect(ev(text)).toMatch(/^(limit-exceeded|function-failed) /);
  });

  it("gives up a template that triples itself 30 times", () => {
    let text = "x";
    for (let i = 0; i < 30; i++) text = `%{for q in [1, 2, 3]}${text}%{endfor}`;
    const { expression } = parseTemplate(text);
    expect(place(evaluate(expression as never, {}).diagnostics)).toMatch(/^limit-exceeded/);
  });

  it("matches patterns in linear time", () => {
    expect(ev(`regex_replace("${"a".repeat(5_000)}b", "(a+)+$", "x")`)).toHaveLength(5_001);
  });

  it("counts the limits that a caller sets", () => {
    expect(ev("[1, 2, 3]", {}, { limits: { maxSteps: 3 } })).toMatch(/^limit-exceeded/);
    expect(ev('"${x}${x}"', { x: "abc" }, { limits: { maxOutputBytes: 5 } })).toMatch(/^limit-exceeded/);
    expect(ev('"${x}${x}"', { x: "abc" }, { parent: { limits: { maxOutputBytes: 6 } } })).toBe("abcabc");
  });

  it("keeps numbers small", () => {
    expect(ev("1e9999 * 1e9999 * 1e9999")).toMatch(/^invalid-operand/);
    expect(ev("1e-9999 / 1e9999 / 1e9999")).toMatch(/^invalid-operand/);
    expect(String(ev("1e9999 + 1"))).toHaveLength(10_000);
  });
});

describe("names of the object prototype", () => {
  it.each(["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"])("%s is plain data", (name) => {
    expect(ev(name)).toBe("unknown-variable 1:1");
    expect(ev(`${name}()`)).toBe("unknown-function 1:1");
    expect(ev(`{ ${name} = 1 }.${name}`)).toBe(1);
    expect(ev(`{}.${name}`)).toBe("unknown-attribute 1:3");
    expect(ev(`{}["${name}"]`)).toBe("invalid-index 1:3");
    expect(ev(`lookup({}, "${name}", 5)`)).toBe(5);
    expect(ev(`keys(jsondecode("{\\"${name}\\":1}"))`)).toEqual([name]);
    expect(ev(`yamldecode("${name}: 1").${name}`)).toBe(1);
    expect(ev(`uuidv5("${name}", "a")`)).toBe("function-failed 1:9");
    expect(parse(`${name} = 1\n${name} "${name}" {}\n`).body.attribute(name)?.name).toBe(name);
  });
});
