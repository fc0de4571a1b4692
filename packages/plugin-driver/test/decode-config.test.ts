/** What a schema makes of a job's block: which keys, which values, and the place of every fault. */
import { HclNumber, numberText } from "@outrider/hcl";
import { describe, expect, it } from "vitest";
import type { HclSpec } from "../src/index.ts";
import { ConfigError, decodeConfig } from "../src/host/index.ts";

const attr = (type: string, required = false, name = ""): HclSpec => ({ kind: "attr", name, type, required });
const object = (attributes: Record<string, HclSpec>): HclSpec => ({ kind: "object", attributes });
const block = (nested: HclSpec, required = false, name = ""): HclSpec => ({ kind: "block", name, required, nested });
const many = (kind: "blockList" | "blockSet", nested: HclSpec, minItems = 0, maxItems = 0): HclSpec => ({
  kind,
  name: "",
  nested,
  minItems,
  maxItems,
});
const labelled = (labels: readonly string[], nested: HclSpec): HclSpec => ({
  kind: "blockMap",
  name: "",
  labels,
  nested,
});
const attrs = (type: string, required = false): HclSpec => ({ kind: "blockAttrs", name: "", type, required });

/** Maps as plain objects, to be compared. */
function plain(value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, inner]) => [key, plain(inner)]));
  return Array.isArray(value) ? value.map(plain) : value;
}
const read = (spec: HclSpec, input: unknown, variables: Readonly<Record<string, unknown>> = {}): unknown =>
  plain(decodeConfig(spec, input, { variables }));
const one = (text: unknown, variables: Readonly<Record<string, unknown>> = {}, type = "any"): unknown =>
  (read(object({ a: attr(type) }), { a: text }, variables) as { a: unknown }).a;
function faults(run: () => unknown): string[] {
  try {
    run();
  } catch (reason) {
    if (reason instanceof ConfigError) return reason.issues.map(({ field, message }) => `${field}: ${message}`);
    throw reason;
  }
  return [];
}

/** `n` levels of a kind around a schema that takes nothing. */
function nest(n: number, wrap: (inner: HclSpec) => HclSpec): HclSpec {
  let spec: HclSpec = object({});
  for (let i = 0; i < n; i++) spec = wrap(spec);
  return spec;
}

describe("a schema", () => {
  const literal: HclSpec = { kind: "literal", value: "null" };
  it.each<[string, (inner: HclSpec) => HclSpec, (n: number) => unknown]>([
    ["objects", (inner) => object({ a: inner }), () => ({})],
    ["lists", (inner) => ({ kind: "array", values: [inner] }), () => ({})],
    ["values", (inner) => ({ kind: "default", primary: literal, default: inner }), () => ({})],
    ["defaults", (inner) => ({ kind: "default", primary: inner, default: literal }), () => ({})],
  ])("may hold 64 %s inside of each other, and no more", (_what, wrap, input) => {
    expect(faults(() => read(nest(64, wrap), input(64)))).toEqual([]);
    expect([...new Set(faults(() => read(nest(65, wrap), input(65))))]).toEqual(["config: nested deeper than 64"]);
  });

  it.each<[string, (inner: HclSpec) => HclSpec, (inner: unknown) => unknown]>([
    ["blocks", (nested) => object({ b: block(nested) }), (inner) => ({ b: inner })],
    ["lists of blocks", (nested) => object({ b: many("blockList", nested) }), (inner) => ({ b: [inner] })],
    ["sets of blocks", (nested) => object({ b: many("blockSet", nested) }), (inner) => ({ b: [inner] })],
    ["labelled blocks", (nested) => object({ b: labelled(["l"], nested) }), (inner) => ({ b: { x: inner } })],
  ])("may hold 32 %s, which are two levels each, and no more", (_what, wrap, hold) => {
    const job = (n: number): unknown => {
      let value: unknown = {};
      for (let i = 0; i < n; i++) value = hold(value);
      return value;
    };
    expect(faults(() => read(nest(32, wrap), job(32)))).toEqual([]);
    const [fault, ...others] = faults(() => read(nest(33, wrap), job(33)));
    expect(fault).toMatch(/^config(\.b(\[.+?\])?)+: nested deeper than 64$/);
    expect(others).toEqual([]);
  });

  it("takes the keys that it names, under the names that it gives, at every level", () => {
    const spec = object({
      renamed: attr("string", false, "given"),
      wrapped: { kind: "array", values: [attr("string", false, "x"), attr("string", false, "y")] },
      either: { kind: "default", primary: attr("string", false, "p"), default: attr("string", false, "q") },
      inner: object({ deep: attr("string") }),
      fixed: { kind: "literal", value: '"f"' },
    });
    expect(read(spec, { given: "1", x: "2", y: "3", q: "4", deep: "5" })).toEqual({
      renamed: "1",
      wrapped: ["2", "3"],
      either: "4",
      inner: { deep: "5" },
      fixed: "f",
    });
    expect(read(spec, { p: "6", q: "4" })).toMatchObject({ either: "6", renamed: null, wrapped: [null, null] });
    const no = "the driver's schema has no such key";
    expect(faults(() => read(spec, { renamed: "1", wrapped: 2, inner: {}, fixed: "g" }))).toEqual([
      `config.renamed: ${no}`,
      `config.wrapped: ${no}`,
      `config.inner: ${no}`,
      `config.fixed: ${no}`,
    ]);
    expect(faults(() => read(object({ b: block(object({})) }), { b: { x: 1 } }))).toEqual([`config.b.x: ${no}`]);
  });

  it("whose type cannot be read is told for every attribute that has it", () => {
    const spec = object({ a: attr("strin"), b: attr("strin"), c: attrs("strin") });
    const none = 'the schema\'s type "strin" is none';
    expect(faults(() => read(spec, { a: 1, b: 2, c: { x: 1 } }))).toEqual([
      `config.a: ${none}`,
      `config.b: ${none}`,
      `config.c: ${none}`,
    ]);
    expect(faults(() => read(spec, {}))).toEqual([]);
    expect(read(object({ a: attr(" null ") }), { a: [1, "x"] })).toEqual({ a: [1, "x"] });
  });
});

describe("blocks", () => {
  const host = object({ host: attr("string", true), port: attr("number") });

  it("are told by their place when something is wrong inside", () => {
    const spec = object({
      b: block(host),
      l: many("blockList", host),
      m: labelled(["x", "y"], host),
      k: attrs("number"),
    });
    expect(
      faults(() =>
        read(spec, {
          b: { port: 1 },
          l: [{ host: "a" }, { host: "b", port: "x" }],
          m: [{ one: { "two words": {} } }],
          k: { good: 1, bad: "x" },
        }),
      ),
    ).toEqual([
      "config.b.host: is required",
      "config.l[1].port: incorrect value type: a number is required",
      'config.m["one"]["two words"].host: is required',
      "config.k.bad: incorrect value type: a number is required",
    ]);
  });

  it("of which one is allowed or required are counted", () => {
    const spec = object({ b: block(object({}), true), k: attrs("string", true) });
    expect(faults(() => read(spec, {}))).toEqual([
      "config.b: the block is required",
      "config.k: the block is required",
    ]);
    expect(faults(() => read(spec, { b: {}, k: [{ a: "1" }, { b: "2" }] }))).toEqual([
      "config.k: only one block is allowed",
    ]);
    expect(read(spec, { b: {}, k: { a: 1 } })).toEqual({ b: {}, k: { a: "1" } });
    expect(read(object({ b: block(object({})), k: attrs("string") }), {})).toEqual({ b: null, k: null });
  });

  it("are as many as the schema says, the limits included", () => {
    const spec = object({ l: many("blockList", object({}), 1, 2) });
    expect(read(spec, { l: [{}] })).toEqual({ l: [{}] });
    expect(read(spec, { l: [{}, {}] })).toEqual({ l: [{}, {}] });
    expect(faults(() => read(spec, { l: [] }))).toEqual(["config.l: at least 1 blocks are required, but have 0"]);
    expect(faults(() => read(spec, { l: [{}, {}, {}] }))).toEqual([
      "config.l: at most 2 blocks are allowed, but have 3",
    ]);
    expect(read(object({ l: many("blockList", object({})) }), { l: Array(9).fill({}) })).toEqual({
      l: Array(9).fill({}),
    });
  });

  it("of a set are told apart by their values, the first of equals stays", () => {
    const spec = object({ s: many("blockSet", object({ n: attr("number") })) });
    expect(read(spec, { s: [{ n: 2 }, { n: 1 }, { n: "2" }, { n: 3 }, { n: 1 }] })).toEqual({
      s: [{ n: 2 }, { n: 1 }, { n: 3 }],
    });
    const list = object({ s: many("blockList", object({ n: attr("number") })) });
    expect(read(list, { s: [{ n: 1 }, { n: 1 }] })).toEqual({ s: [{ n: 1 }, { n: 1 }] });
  });

  it("with labels meet under their first label, and no pair of labels comes twice", () => {
    const spec = object({ m: labelled(["x", "y"], object({ n: attr("number") })) });
    expect(read(spec, { m: [{ a: { b: { n: 1 } } }, { a: { c: { n: 2 } } }, { d: { b: { n: 3 } } }] })).toEqual({
      m: { a: { b: { n: 1 }, c: { n: 2 } }, d: { b: { n: 3 } } },
    });
    expect(faults(() => read(spec, { m: [{ a: { b: {} } }, { a: { b: {} } }] }))).toEqual([
      'config.m["a"]["b"]: is given twice',
    ]);
    expect(read(spec, { m: null })).toEqual({ m: {} });
    expect(read(spec, {})).toEqual({ m: {} });
    expect(faults(() => read(spec, { m: { a: 1 } }))).toEqual([
      'config.m["a"]: an object is required, but have a number',
    ]);
  });

  it("may come one by one, with comments between", () => {
    const spec = object({ a: attr("string"), l: many("blockList", host) });
    const input = [{ a: "1", "//": "why" }, { l: { host: "x", "//": 1 } }, { l: [{ host: "y" }] }];
    expect(read(spec, input)).toMatchObject({ a: "1", l: [{ host: "x" }, { host: "y" }] });
    expect(faults(() => read(spec, { l: 1 }))).toContain("config.l: an object is required, but have a number");
    expect(faults(() => read(spec, [true]))).toEqual(["config: an object is required, but have a boolean"]);
  });
});

describe("an attribute", () => {
  it("holds data of up to a hundred levels", () => {
    const list = (n: number): unknown => {
      let value: unknown = 1;
      for (let i = 0; i < n; i++) value = [value];
      return value;
    };
    const map = (n: number): unknown => {
      let value: unknown = 1;
      for (let i = 0; i < n; i++) value = { k: value };
      return value;
    };
    for (const make of [list, map]) {
      expect(faults(() => one(make(100)))).toEqual([]);
      expect(faults(() => one(make(101)))[0]).toMatch(/^config\.a.*: nested deeper than 100$/);
    }
  });

  it("that is required must be there, null included in what is there", () => {
    const spec = object({ a: attr("string", true) });
    expect(faults(() => read(spec, {}))).toEqual(["config.a: is required"]);
    expect(read(object({ a: attr("string") }), { a: null })).toEqual({ a: null });
  });

  it("names the part that has the wrong type", () => {
    const spec = object({ a: attr("list(map(number))") });
    expect(faults(() => read(spec, { a: [{ x: 1 }, { y: "no" }] }))).toEqual([
      'config.a[1]["y"]: incorrect value type: a number is required',
    ]);
  });
});

describe("a text", () => {
  it.each<[string, unknown]>([
    ["plain", "plain"],
    ["$5 and 10%", "$5 and 10%"],
    ["{x}", "{x}"],
    ["${1 + 1}", 2],
    ["n${1 + 1}", "n2"],
    ["${1}${2}", "12"],
    ["${[1]}", [1]],
    ["%{ if true }yes%{ else }no%{ endif }", "yes"],
    ["%{ for x in [1, 2] }${x};%{ endfor }", "1;2;"],
    ["$${kept} %%{kept}", "${kept} %{kept}"],
  ])("is a template: %s", (text, value) => {
    expect(one(text)).toEqual(value);
  });

  it("names no variable unless it says so", () => {
    const variables = {
      get poison(): string {
        throw new Error("must not be read");
      },
    };
    expect(one("plain", variables)).toBe("plain");
    expect(() => one("${poison}", variables)).toThrow("must not be read");
  });

  it("that cannot be evaluated is told with its place, itself and the reason", () => {
    expect(faults(() => one("${nofunction(1)}"))).toEqual([
      expect.stringMatching(/^config\.a: "\$\{nofunction\(1\)\}": .+: .*nofunction/) as string,
    ]);
    expect(faults(() => one("${missing}", { known: 1 }))).toEqual([
      expect.stringMatching(/^config\.a: "\$\{missing\}": .+: .*missing/) as string,
    ]);
    expect(faults(() => one([{ k: "${" }]))).toEqual([
      expect.stringMatching(/^config\.a\[0\]\.k: "\$\{": .+: .+/) as string,
    ]);
    const bad: HclSpec = { kind: "literal", value: "1 +" };
    expect(faults(() => read(object({ a: bad }), {}))).toEqual([
      expect.stringMatching(/^config: "1 \+": .+/) as string,
    ]);
  });

  it("as a key is a template too, and must stay a text", () => {
    expect(one({ "k${1}": "v" })).toEqual({ k1: "v" });
    expect(faults(() => one({ "${1}": "v", ok: 1 }))).toEqual(['config.a: key "${1}" is no text']);
  });
});

describe("the functions of a configuration", () => {
  it.each<[string, unknown]>([
    ["abs(-2)", 2],
    ['coalesce(null, "b")', "b"],
    ["concat([1], [2])", [1, 2]],
    ['jsondecode("[1]")', [1]],
    ["jsonencode([1])", "[1]"],
    ["length([1, 2])", 2],
    ['lower("Ab")', "ab"],
    ["max(1, 3, 2)", 3],
    ["min(3, 1, 2)", 1],
    ['strlen("äb")', 2],
    ['substr("abcd", 1, 2)', "bc"],
    ['upper("Ab")', "AB"],
    ["int(2.9)", 2],
    ["int(-2.9)", -2],
    ["int(-0.1)", 0],
    ['reverse("ab")', "ba"],
    ["reverse([1, 2, 3])", [3, 2, 1]],
    ["hasindex([1, 2], 0)", true],
    ["hasindex([1, 2], 1)", true],
    ["hasindex([1, 2], 2)", false],
    ["hasindex([1, 2], -1)", false],
    ["hasindex([1, 2], 0.5)", false],
    ['hasindex([1, 2], "0")', false],
    ['hasindex({ a = 1 }, "a")', true],
    ['hasindex({ a = 1 }, "b")', false],
    ["hasindex({ a = 1 }, 0)", false],
  ])("are Nomad's: %s", (text, value) => {
    expect(one(`\${${text}}`)).toEqual(value);
  });

  it.each<[string, string]>([
    ["hasindex(1, 0)", "a list, map, object or tuple is required"],
    ['hasindex("abc", 0)', "a list, map, object or tuple is required"],
    ["reverse(1)", "a string is required"],
    ["reverse({ a = 1 })", "a string is required"],
  ])("refuse what they cannot take: %s", (text, why) => {
    expect(faults(() => one(`\${${text}}`))[0]).toContain(why);
  });

  it("are fifteen, and none that reads files or time", () => {
    for (const name of ["file", "timestamp", "uuidv4", "split", "join", "format", "strrev"]) {
      expect(faults(() => one(`\${${name}("a")}`))[0], name).toContain(name);
    }
  });

  it("keep numbers beyond a double", () => {
    const spec = object({ a: attr("number") });
    const value = decodeConfig(spec, { a: "${int(9223372036854775807)}" });
    const a: unknown = value instanceof Map ? value.get("a") : undefined;
    expect(a instanceof HclNumber && numberText(a)).toBe("9223372036854775807");
  });
});

describe("a configuration that does not fit", () => {
  it("is one error that counts its faults and tells the first", () => {
    const spec = object({ a: attr("number"), b: attr("number"), c: attr("number") });
    const error = (input: unknown, field?: string): ConfigError => {
      try {
        decodeConfig(spec, input, field === undefined ? {} : { field });
      } catch (reason) {
        return reason as ConfigError;
      }
      throw new Error("no error");
    };
    expect(error({ a: "x" })).toMatchObject({
      name: "ConfigError",
      code: "ERR_OUTRIDER_PLUGIN_CONFIG",
      message: "config.a: incorrect value type: a number is required",
      details: { issues: [{ field: "config.a", message: "incorrect value type: a number is required" }] },
    });
    expect(error({ a: "x", b: "x", c: "x" }, "task").message).toBe(
      "task.a: incorrect value type: a number is required (and 2 more)",
    );
    expect(error({ a: "x", b: "x" }).message).toMatch(/ \(and 1 more\)$/);
    expect(new ConfigError([]).message).toBe("config: invalid");
  });
});
