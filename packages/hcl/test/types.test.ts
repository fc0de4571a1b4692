import { describe, expect, it } from "vitest";
import {
  convertValue,
  decodeType,
  HclNumber,
  parseExpression,
  typeName,
  typeText,
  valueFromJs,
  valueToJs,
} from "../src/index.ts";
import type { Expression, HclType } from "../src/index.ts";

const type = (text: string): HclType => decodeType(parseExpression(text).expression as Expression).type as HclType;
const convert = (js: unknown, t: string): unknown => {
  const r = convertValue(valueFromJs(js), type(t));
  return r.ok ? JSON.parse(JSON.stringify(valueToJs(r.value))) : `${r.path}: ${r.message}`;
};

describe("decodeType", () => {
  it.each([
    "string",
    "number",
    "bool",
    "any",
    "list(string)",
    "set(number)",
    "map(list(bool))",
    "tuple([string, number])",
    "object({a = string, b = optional(number)})",
  ])("reads %s", (text) => {
    expect(typeText(type(text))).toBe(text);
  });

  it("takes bare collections, quoted names and defaults", () => {
    expect(typeText(type("list"))).toBe("list(any)");
    const t = type('object({"a b" = optional(number, "5")})') as HclType & { kind: "object" };
    expect(t.attributes.get("a b")).toEqual({ type: { kind: "number" }, optional: true, default: 5 });
  });

  it.each([
    ["strin", 1],
    ["5", 1],
    ["a.b", 1],
    ["list()", 1],
    ["list(string, number)", 1],
    ["list(strin)", 6],
    ["nope(string)", 1],
    ["tuple(string)", 7],
    ["object(string)", 8],
    ["object({(x) = string})", 9],
    ["object({a = optional()})", 13],
    ['object({a = optional(number, "x")})', 31],
    ["object({a = optional(number, y)})", 30],
    ["object({a = optional(1, 2, 3)})", 13],
  ])("refuses %s", (text, column) => {
    const { type: t, diagnostics } = decodeType(parseExpression(text).expression as Expression);
    expect(t).toBeUndefined();
    expect(diagnostics.map((d) => [d.code, d.subject.start.column])).toEqual([["invalid-type", column]]);
  });
});

describe("convertValue", () => {
  it.each<[unknown, string, unknown]>([
    ["5", "number", 5],
    ["x", "number", ": a number is required"],
    [[], "number", ": a number is required"],
    [5, "string", "5"],
    [true, "string", "true"],
    [[], "string", ": string required, but have tuple"],
    [{}, "string", ": string required, but have object"],
    ["true", "bool", true],
    ["1", "bool", true],
    ["false", "bool", false],
    ["0", "bool", false],
    ["yes", "bool", ": a bool is required"],
    [null, "list(string)", null],
    [[1, "a"], "list(string)", ["1", "a"]],
    [["a", 1, "a"], "set(string)", ["1", "a"]],
    [[1, "a"], "list(any)", ["1", "a"]],
    [[1, []], "list(any)", [1, []]],
    ["a", "list(string)", ": list of string required, but have string"],
    ["a", "list", ": list required, but have string"],
    [[["x"]], "list(list(number))", "[0][0]: a number is required"],
    [{ a: 1, b: "x" }, "map(any)", { a: "1", b: "x" }],
    [{ a: [] }, "map(string)", '["a"]: string required, but have tuple'],
    [[], "map(string)", ": map of string required, but have tuple"],
    [[1, 2], "tuple([string, number])", ["1", 2]],
    [[1], "tuple([string, number])", ": tuple of 2 elements required, but have 1"],
    [1, "tuple([string])", ": tuple required, but have number"],
    [{ a: 1, c: 2 }, "object({a = string, b = optional(number)})", { a: "1", b: null }],
    [{ a: null }, "object({a = optional(number, 5)})", { a: 5 }],
    [{ a: null }, "object({a = number})", { a: null }],
    [{}, "object({a = number})", ': attribute "a" is required'],
    [{ a: "x" }, "object({a = number})", ".a: a number is required"],
    [5, "object({})", ": object required, but have number"],
    [5, "any", 5],
  ])("%j to %s gives %j", (js, t, want) => {
    expect(convert(js, t)).toEqual(want);
  });

  it("names the kinds of values", () => {
    expect([null, "", 1, true, [], {}].map((x) => typeName(valueFromJs(x)))).toEqual([
      "null",
      "string",
      "number",
      "bool",
      "tuple",
      "object",
    ]);
  });
});

describe("valueFromJs and valueToJs", () => {
  it("carry data there and back", () => {
    const data = { a: [1, "x", null, true, 12345678901234567890n], b: { c: 1.5 } };
    const js = valueToJs(valueFromJs(data)) as object;
    expect(JSON.stringify(js, (_, v: unknown) => (typeof v === "bigint" ? `${v}n` : v))).toBe(
      JSON.stringify(data, (_, v: unknown) => (typeof v === "bigint" ? `${v}n` : v)),
    );
    expect(Object.getPrototypeOf(js)).toBeNull();
    expect(valueFromJs(5n)).toBe(5);
    expect(Object.is(valueFromJs(-0), 0)).toBe(true);
    expect(valueToJs(valueFromJs(new Map([["__proto__", Object.create(null)]])))).toHaveProperty("__proto__");
    expect(valueToJs(HclNumber.parse("12345678901234567890.5") as HclNumber)).toBe("12345678901234567890.5");
  });

  it.each([undefined, NaN, () => 1, Symbol("x"), new Date(0), 10n ** 100_001n])("refuse what is no data", (x) => {
    expect(() => valueFromJs(x)).toThrow(TypeError);
  });
});
