/** What the builders of schemas tell the agent, and what they make of decoded values. */
import { describe, expect, it } from "vitest";
import { ConfigError, type HclSpec, schema } from "../src/index.ts";

const object = (attributes: Record<string, HclSpec>): HclSpec => ({ kind: "object", attributes });
const attr = (name: string, type: string, required = false): HclSpec => ({ kind: "attr", name, type, required });
const none = object({});
const messageOf = (run: () => unknown): string => {
  try {
    run();
  } catch (reason) {
    if (reason instanceof ConfigError) return reason.message;
    throw reason;
  }
  return "";
};

describe("the schema for the agent", () => {
  it("names every attribute with its type", () => {
    const spec = schema
      .object({
        s: schema.string(),
        n: schema.number().required(),
        i: schema.bigint(),
        b: schema.bool(),
        a: schema.any(),
        l: schema.list(schema.set(schema.string())),
        m: schema.map(schema.list(schema.bool())),
      })
      .spec();
    expect(spec).toEqual(
      object({
        s: attr("s", "string"),
        n: attr("n", "number", true),
        i: attr("i", "number"),
        b: attr("b", "bool"),
        a: attr("a", "any"),
        l: attr("l", "list(set(string))"),
        m: attr("m", "map(list(bool))"),
      }),
    );
  });

  it("names every kind of block", () => {
    const spec = schema
      .object({
        one: schema.block({ x: schema.string() }),
        many: schema.blockList({}),
        some: schema.blockList({}, { min: 1, max: 3 }),
        free: schema.blockAttrs(schema.number()),
        named: schema.blockMap("label", {}),
      })
      .spec();
    expect(spec).toEqual(
      object({
        one: { kind: "block", name: "one", required: false, nested: object({ x: attr("x", "string") }) },
        many: { kind: "blockList", name: "many", minItems: 0, maxItems: 0, nested: none },
        some: { kind: "blockList", name: "some", minItems: 1, maxItems: 3, nested: none },
        free: { kind: "blockAttrs", name: "free", type: "number", required: false },
        named: { kind: "blockMap", name: "named", labels: ["label"], nested: none },
      }),
    );
  });

  it.each<[{ spec(name: string): HclSpec }, string, string]>([
    [schema.string().default("a"), "string", '"a"'],
    [schema.string().default('${x} %{y} $z "q"'), "string", '"$${x} %%{y} $z \\"q\\""'],
    [schema.number().default(0.5), "number", "0.5"],
    [schema.bigint().default(12n), "number", "12"],
    [schema.bool().default(false), "bool", "false"],
    [schema.list(schema.string()).default(["a", "${b}"]), "list(string)", '["a","$${b}"]'],
    [schema.map(schema.bigint()).default({ a: 1n }), "map(number)", '{"a":1}'],
  ])("holds a default as an expression (%#)", (node, type, value) => {
    expect(node.spec("k")).toEqual({
      kind: "default",
      primary: attr("k", type),
      default: { kind: "literal", value },
    });
  });

  it("refuses an attribute of any type wherever it is in a blockMap, but not a word that begins like it", () => {
    const refused = "label.a: type any is not possible in a blockMap";
    expect(messageOf(() => schema.blockMap("label", { a: schema.any() }))).toBe(refused);
    expect(messageOf(() => schema.blockMap("label", { a: schema.any().default(1) }))).toBe(refused);
    expect(messageOf(() => schema.blockMap("label", { b: schema.blockList({ a: schema.any() }) }))).toBe(refused);
    expect(messageOf(() => schema.blockMap("label", { a: schema.map(schema.any()) }))).toBe(
      "label.a: type map(any) is not possible in a blockMap",
    );
    expect(messageOf(() => schema.blockMap("label", { any: schema.string(), company: schema.bool() }))).toBe("");
  });
});

describe("a decoded value", () => {
  const read = (node: { read(value: unknown, field: string): unknown }, value: unknown): unknown =>
    node.read(value, "f");

  it.each<[string, { read(value: unknown, field: string): unknown }, readonly (readonly [unknown, unknown])[]]>([
    [
      "a number",
      schema.number(),
      [
        [1, 1],
        ["0.1", 0.1],
        ["-2", -2],
        [0, 0],
        [Infinity, Infinity],
      ],
    ],
    [
      "a bigint",
      schema.bigint(),
      [
        [1, 1n],
        [-3, -3n],
        [5n, 5n],
        ["9223372036854775808", 9223372036854775808n],
        ["-7", -7n],
      ],
    ],
    [
      "a string",
      schema.string(),
      [
        ["", ""],
        ["x", "x"],
      ],
    ],
    [
      "a bool",
      schema.bool(),
      [
        [true, true],
        [false, false],
      ],
    ],
    [
      "anything",
      schema.any(),
      [
        [
          [1, { a: 2 }],
          [1, { a: 2 }],
        ],
        [0, 0],
      ],
    ],
    [
      "a list",
      schema.list(schema.number()),
      [
        [[], []],
        [
          ["1", 2],
          [1, 2],
        ],
      ],
    ],
    [
      "a set",
      schema.set(schema.bigint()),
      [
        [
          [1, "2"],
          [1n, 2n],
        ],
      ],
    ],
    [
      "a map",
      schema.map(schema.number()),
      [
        [{}, {}],
        [{ a: "1" }, { a: 1 }],
      ],
    ],
    [
      "free keys",
      schema.blockAttrs(schema.number()),
      [
        [{ a: "1" }, { a: 1 }],
        [null, undefined],
        [undefined, undefined],
      ],
    ],
    [
      "a block",
      schema.block({ n: schema.number() }),
      [
        [{ n: "1" }, { n: 1 }],
        [null, undefined],
        [undefined, undefined],
      ],
    ],
    [
      "blocks",
      schema.blockList({ n: schema.number() }),
      [
        [
          [{ n: 1 }, {}],
          [{ n: 1 }, { n: undefined }],
        ],
        [null, []],
        [undefined, []],
      ],
    ],
    [
      "labelled blocks",
      schema.blockMap("l", { n: schema.number() }),
      [
        [{ a: { n: "1" } }, { a: { n: 1 } }],
        [null, {}],
        [undefined, {}],
      ],
    ],
    [
      "a default",
      schema.number().default(7),
      [
        [null, 7],
        [undefined, 7],
        [0, 0],
      ],
    ],
    [
      "an absent one",
      schema.number(),
      [
        [null, undefined],
        [undefined, undefined],
      ],
    ],
  ])("is %s", (_what, node, rows) => {
    for (const [value, wanted] of rows) expect(read(node, value)).toEqual(wanted);
  });

  it.each<[{ read(value: unknown, field: string): unknown }, unknown, string]>([
    [schema.string().required(), undefined, "f: a value is required, but have undefined"],
    [schema.string().required(), null, "f: a value is required, but have null"],
    [schema.string(), 1n, 'f: a string is required, but have "1"'],
    [schema.string(), ["a"], 'f: a string is required, but have ["a"]'],
    [schema.bool(), "true", 'f: a bool is required, but have "true"'],
    [schema.number(), "", 'f: a number below 2^53 is required, but have ""'],
    [schema.number(), "  ", 'f: a number below 2^53 is required, but have "  "'],
    [schema.number(), "1x", 'f: a number below 2^53 is required, but have "1x"'],
    [schema.number(), true, "f: a number below 2^53 is required, but have true"],
    [schema.number(), NaN, "f: a number below 2^53 is required, but have null"],
    [schema.bigint(), "1x", 'f: a whole number is required, but have "1x"'],
    [schema.bigint(), "x1", 'f: a whole number is required, but have "x1"'],
    [schema.bigint(), "", 'f: a whole number is required, but have ""'],
    [schema.bigint(), 0.5, "f: a whole number is required, but have 0.5"],
    [schema.list(schema.string()), { a: 1 }, 'f: a list is required, but have {"a":1}'],
    [schema.set(schema.string()), ["a", 2], "f[1]: a string is required, but have 2"],
    [schema.map(schema.number()), "x", 'f: a map is required, but have "x"'],
    [schema.map(schema.number()), [], "f: a map is required, but have []"],
    [schema.map(schema.number()), { k: "x" }, 'f.k: a number below 2^53 is required, but have "x"'],
    [schema.list(schema.list(schema.bool())), [[true], [1]], "f[1][0]: a bool is required, but have 1"],
    [schema.list(schema.string()), [null], "f[0]: a string is required, but have null"],
    [schema.map(schema.string()), { a: null }, "f.a: a string is required, but have null"],
    [schema.blockAttrs(schema.number()), [], "f: a map is required, but have []"],
    [schema.block({}), "x", 'f: a block is required, but have "x"'],
    [schema.block({}), [], "f: a block is required, but have []"],
    [schema.block({ n: schema.number() }), { n: "x" }, 'f.n: a number below 2^53 is required, but have "x"'],
    [schema.blockList({ n: schema.bool() }), [{}, { n: 1 }], "f[1].n: a bool is required, but have 1"],
    [schema.blockList({}), {}, "f: a list of blocks is required, but have {}"],
    [schema.blockMap("l", {}), 1, "f: labelled blocks is required, but have 1"],
    [schema.blockMap("l", {}), [], "f: labelled blocks is required, but have []"],
    [schema.blockMap("l", {}), { "a b": 1 }, 'f["a b"]: a block is required, but have 1'],
  ])("of the wrong kind is told with its place (%#)", (node, value, message) => {
    expect(messageOf(() => read(node, value))).toBe(message);
  });

  it("is shown in an error up to 200 characters", () => {
    const shown = (chars: number): string => messageOf(() => read(schema.bool(), "x".repeat(chars)));
    // Two are the quotes.
    expect(shown(198)).toBe(`f: a bool is required, but have "${"x".repeat(198)}"`);
    expect(shown(199)).toBe(`f: a bool is required, but have "${"x".repeat(199)}…`);
  });

  it("is taken from the block alone, whatever an object inherits", () => {
    const block = schema.object({ constructor: schema.any(), toString: schema.string() });
    expect(block.read({})).toEqual({ constructor: undefined, toString: undefined });
    expect(messageOf(() => schema.object({ a: schema.string().required() }).read({}))).toBe(
      "config.a: a value is required, but have undefined",
    );
    expect(messageOf(() => schema.object({}).read(undefined))).toBe("config: a block is required, but have undefined");
  });
});
