import { describe, expect, it } from "vitest";
import type { HclSpec } from "../src/index.ts";
import { ConfigError, encodeConfig } from "../src/host/index.ts";

const attr = (type: string, required = false): HclSpec => ({ kind: "attr", name: "", type, required });
const named = (name: string, type: string): HclSpec => ({ kind: "attr", name, type, required: false });
const object = (attributes: Record<string, HclSpec>): HclSpec => ({ kind: "object", attributes });
const block = (nested: HclSpec, required = false): HclSpec => ({ kind: "block", name: "", required, nested });
const literal = (value: string): HclSpec => ({ kind: "literal", value });
const withDefault = (primary: HclSpec, value: string): HclSpec => ({
  kind: "default",
  primary,
  default: literal(value),
});
const blocks = (
  kind: "blockList" | "blockSet",
  name: string,
  nested: HclSpec,
  minItems = 0,
  maxItems = 0,
): HclSpec => ({ kind, name, nested, minItems, maxItems });
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const one = (type: string, value: unknown, variables: Record<string, unknown> = {}): string =>
  hex(encodeConfig(object({ a: attr(type) }), { a: value }, { variables })).slice("81a161".length);
const issues = (run: () => unknown): string[] => {
  try {
    run();
  } catch (reason) {
    if (reason instanceof ConfigError) return reason.issues.map(({ field, message }) => `${field}: ${message}`);
    throw reason;
  }
  return [];
};

describe("bytes of a configuration", () => {
  it("are those of a stock client for a raw_exec task", () => {
    const spec = object({
      args: attr("list(string)"),
      cgroup_v1_override: attr("list(map(string))"),
      cgroup_v2_override: attr("string"),
      command: attr("string", true),
      denied_envvars: attr("list(string)"),
      oom_score_adj: attr("number"),
      work_dir: attr("string"),
    });
    expect(hex(encodeConfig(spec, { command: "/bin/date", args: ["-u"] }))).toBe(
      "87a46172677391a22d75b26367726f75705f76315f6f76657272696465c0b26367726f75705f76325f6f76657272696465c0a7636f6d6d616e64a92f62696e2f64617465ae64656e6965645f656e7676617273c0ad6f6f6d5f73636f72655f61646ac0a8776f726b5f646972c0",
    );
  });

  it.each([
    [127, "7f"],
    [128, "cc80"],
    [40000, "cd9c40"],
    [70000, "ce00011170"],
    [2 ** 40, "cf0000010000000000"],
    [-1, "ff"],
    [-33, "d0df"],
    [-200, "d1ff38"],
    [-40000, "d2ffff63c0"],
    [-(2 ** 40), "d3ffffff0000000000"],
    [0.5, "cb3fe0000000000000"],
    [0.1, "a3302e31"],
    [9223372036854775808n, "b339323233333732303336383534373735383038"],
    [3, "03"],
    ["0.25", "cb3fd0000000000000"],
    ["1e-3", "a5302e303031"],
  ])("encode the number %s as Nomad does", (value, bytes) => {
    expect(one("number", value)).toBe(bytes);
  });

  it.each([
    [31, "bf"],
    [32, "d920"],
    [256, "da0100"],
    [65536, "db00010000"],
  ])("announce a text of %d bytes by the shortest form", (length, head) => {
    expect(one("string", "x".repeat(length)).startsWith(head)).toBe(true);
  });

  it("normalise texts, sort keys by bytes and fill in absent attributes", () => {
    expect(one("string", "e\u0301")).toBe("a2c3a9");
    expect(one("map(string)", { "\u{1F600}": "1", "\uFFFD": "2", b: "3" })).toBe(
      "83a162a133a3efbfbda132a4f09f9880a131",
    );
    expect(one("set(number)", [3, 1, 2, 1])).toBe("93010203");
    expect(hex(encodeConfig(object({ b: attr("bool"), a: attr("string") }), {}))).toBe("82a161c0a162c0");
    expect(
      one(
        "list(string)",
        Array.from({ length: 20 }, () => ""),
      ).startsWith("dc0014"),
    ).toBe(true);
  });
});

describe("reading a block", () => {
  it("evaluates templates with the task's variables and keeps the type of a lone expression", () => {
    const variables = { NOMAD_ALLOC_NAME: "web1.g1[0]", env: { X: "y" }, n: "12", node: { class: "c" } };
    expect(one("string", "${NOMAD_ALLOC_NAME}-nodes", variables)).toBe(
      "b0" + Buffer.from("web1.g1[0]-nodes").toString("hex"),
    );
    expect(one("number", "${n}", variables)).toBe("0c");
    expect(one("string", '${upper(env["X"])}-$${no}', variables)).toBe("a759" + Buffer.from("-${no}").toString("hex"));
    expect(one("any", "${[1, true]}", variables)).toBe("9201c3");
    expect(one("map(string)", { "${env.X}": "${node.class}" }, variables)).toBe("81a179a163");
  });

  it.each([
    ["${abs(-3)}", "03"],
    ["${int(2.9)}", "02"],
    ['${reverse("abc")}', "a3636261"],
    ["${reverse([1,2])}", "920201"],
    ["${hasindex([1], 0)}", "c3"],
    ['${hasindex({a = 1}, "b")}', "c2"],
    ["${length([1,2])}", "02"],
    ['${coalesce("", "x")}', "a0"],
    ["${jsonencode({a = 1})}", "a77b2261223a317d"],
  ])("offers Nomad's functions: %s", (text, bytes) => {
    expect(one("any", text)).toBe(bytes);
  });

  it("reads blocks in all their forms", () => {
    const inner = object({ host: attr("string", true) });
    const spec = object({
      auth: block(inner),
      labels: { kind: "blockAttrs", name: "labels", type: "string", required: false },
      mounts: blocks("blockList", "mount", inner),
      set: blocks("blockSet", "s", inner),
      map: { kind: "blockMap", name: "m", labels: ["x", "y"], nested: inner },
      both: { kind: "array", values: [literal("1 + 1"), { kind: "attr", name: "z", type: "string", required: false }] },
    });
    const value = encodeConfig(spec, {
      auth: [{ host: "a" }],
      labels: { k: 1 },
      mount: [{ host: "b" }, { host: "c" }],
      s: [{ host: "d" }, { host: "d" }],
      m: [{ l1: [{ l2: { host: "e" } }] }],
      z: "q",
      "//": "a comment",
    });
    expect(hex(value)).toBe(
      "86" +
        "a461757468" +
        "81a4686f7374a161" +
        "a4626f7468" +
        "9202a171" +
        "a66c6162656c73" +
        "81a16ba131" +
        "a36d6170" +
        "81a26c31" +
        "81a26c32" +
        "81a4686f7374a165" +
        "a66d6f756e7473" +
        "92" +
        "81a4686f7374a162" +
        "81a4686f7374a163" +
        "a3736574" +
        "91" +
        "81a4686f7374a164",
    );
  });

  it("takes the default where the primary value is null", () => {
    const spec = object({
      w: withDefault(named("w", "number"), "0.1"),
      s: withDefault(named("s", "string"), '"normal"'),
    });
    expect(hex(encodeConfig(spec, { s: null }))).toBe("82a173a66e6f726d616ca177a3302e31");
  });

  it("names every fault with its field", () => {
    const spec = object({
      command: attr("string", true),
      n: attr("number"),
      l: attr("list(string)"),
      kv: attr("list(map(string))"),
      b: block(object({}), true),
      m: blocks("blockList", "m", object({}), 1, 1),
    });
    expect(
      issues(() =>
        encodeConfig(spec, { n: true, l: "x", kv: [{ a: [] }], nope: 1, m: [{}, {}], command: "${missing.x}" }),
      ),
    ).toEqual([
      "config.nope: the driver's schema has no such key",
      expect.stringContaining('config.command: "${missing.x}": '),
      "config.n: incorrect value type: a number is required",
      "config.l: incorrect value type: list of string required, but have string",
      'config.kv[0]["a"]: incorrect value type: string required, but have tuple',
      "config.b: the block is required",
      "config.m: at most 1 blocks are allowed, but have 2",
    ]);
    expect(issues(() => encodeConfig(spec, {}, { field: "task web" }))).toContain("task web.command: is required");
    expect(issues(() => encodeConfig(object({}), "x"))).toEqual(["config: an object is required, but have a string"]);
    expect(issues(() => encodeConfig(object({ b: block(object({})) }), { b: [{}, {}] }))).toEqual([
      "config.b: only one block is allowed",
    ]);
    expect(issues(() => encodeConfig(object({ a: attr("string") }), [{ a: "1" }, { a: "2" }]))).toEqual([
      "config.a: is given twice",
    ]);
  });

  it.each<[string, HclSpec, unknown, string]>([
    ["a type that is none", object({ a: attr("strin") }), { a: "x" }, 'config.a: the schema\'s type "strin" is none'],
    [
      "an attribute without a name",
      { kind: "array", values: [attr("string")] },
      {},
      "config.: the schema's attribute has no name",
    ],
    [
      "a block without a name",
      { kind: "array", values: [block(object({}))] },
      {},
      "config.: the schema's block has no name",
    ],
    [
      "a map without labels",
      object({ m: { kind: "blockMap", name: "", labels: [], nested: object({}) } }),
      {},
      "config.m: the schema's block map has no labels",
    ],
    [
      "a map without a name",
      { kind: "array", values: [{ kind: "blockMap", name: "", labels: ["l"], nested: object({}) }] },
      {},
      "config.: the schema's block map has no name",
    ],
    [
      "a label given twice",
      object({ m: { kind: "blockMap", name: "", labels: ["l"], nested: object({}) } }),
      { m: [{ x: {} }, { x: {} }] },
      'config.m["x"]: is given twice',
    ],
    ["a key that is no text", object({ a: attr("any") }), { a: { "${[1]}": 1 } }, 'config.a: key "${[1]}" is no text'],
    [
      "a value that is no data",
      object({ a: attr("any") }),
      { a: Symbol("x") },
      expect.stringContaining("config.a: cannot make a value of") as string,
    ],
  ])("refuses %s", (_what, spec, input, message) => {
    expect(issues(() => encodeConfig(spec, input))).toContainEqual(message);
  });

  it.each(["${hasindex(1, 1)}", "${reverse(1)}", "${int([])}", "${unclosed", "${nofunction(1)}"])(
    "names an expression that fails: %s",
    (text) => {
      expect(issues(() => one("any", text))[0]).toContain(`config.a: ${JSON.stringify(text)}: `);
    },
  );

  it("takes a null type as any, and a null block as none", () => {
    expect(one("null", [1, "x"])).toBe("9201a178");
    expect(one("number", "${int(9223372036854775807)}")).toBe("cf7fffffffffffffff");
    expect(one("any", '${hasindex({a = 1}, "a") ? "y" : "n"}')).toBe("a179");
    const spec = object({
      b: block(object({})),
      m: { kind: "blockMap", name: "m", labels: ["l"], nested: object({}) },
    });
    expect(hex(encodeConfig(spec, { b: null, m: [{ x: null }] }))).toBe("82a162c0a16d80");
    expect(hex(encodeConfig(spec, null))).toBe("82a162c0a16d80");
  });

  it("writes infinities as doubles", () => {
    expect(one("number", Number.POSITIVE_INFINITY)).toBe("cb7ff0000000000000");
  });

  it("refuses schemas that are nested without end", () => {
    let spec: HclSpec = literal("1");
    for (let i = 0; i < 70; i++) spec = { kind: "array", values: [spec] };
    expect(issues(() => encodeConfig(spec, {}))).toEqual(["config: nested deeper than 64"]);
  });
});
