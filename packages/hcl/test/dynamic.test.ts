import { describe, expect, it } from "vitest";
import { evaluate, expandDynamicBlocks, parse, stdlib } from "../src/index.ts";
import { toText } from "../src/convert.ts";
import type { EvalContext, ExpandedBody, Value } from "../src/index.ts";

const context: EvalContext = {
  functions: stdlib,
  variables: {
    list: ["a", "b"],
    map: new Map([
      ["y", 2],
      ["x", 1],
    ]),
  },
};

const show = (body: ExpandedBody): unknown[] => [
  ...body.attributes.map((a) => `${a.name}=${toText(evaluate(a.expression, body.context).value as Value)}`),
  ...body.blocks.map((b) => [[b.type, ...b.labels.map((l) => l.value)].join(" "), ...show(b.body)]),
];
const expand = (text: string): unknown[] => show(expandDynamicBlocks(parse(text).body, context).body);
const errors = (text: string): string[] =>
  expandDynamicBlocks(parse(text).body, context).diagnostics.map(
    (d) => `${d.code} ${d.subject.start.line}:${d.subject.start.column}`,
  );

describe("expandDynamicBlocks", () => {
  it("makes a block for each item, in its own scope", () => {
    expect(
      expand(
        'a = 1\ndynamic "t" {\n for_each = list\n labels = ["l-${t.value}"]\n content {\n  k = t.key\n  v = t.value\n }\n}\nb {}\n',
      ),
    ).toEqual(["a=1", ["t l-a", "k=0", "v=a"], ["t l-b", "k=1", "v=b"], ["b"]]);
  });

  it("runs over maps in the order of their keys, with a named iterator", () => {
    expect(
      expand('dynamic "t" {\n for_each = map\n iterator = it\n content {\n  k = "${it.key}${it.value}"\n }\n}\n'),
    ).toEqual([
      ["t", "k=x1"],
      ["t", "k=y2"],
    ]);
  });

  it("expands inside of made and of plain blocks", () => {
    expect(
      expand(
        'o {\n dynamic "t" {\n  for_each = list\n  content {\n   dynamic "u" {\n    for_each = [t.value]\n    content {\n     v = "${t.key}${u.value}"\n    }\n   }\n  }\n }\n}\n',
      ),
    ).toEqual([["o", ["t", ["u", "v=0a"]], ["t", ["u", "v=1b"]]]]);
  });

  it("tells where a made block comes from", () => {
    const { body } = expandDynamicBlocks(
      parse('dynamic "t" {\n for_each = [1]\n content {\n x = 1\n }\n}\np {}\n').body,
      context,
    );
    const [made, plain] = body.blocks;
    expect(made?.dynamic?.type).toBe("dynamic");
    expect(made?.source.type).toBe("content");
    expect(made?.body.attribute("x")?.name).toBe("x");
    expect(plain?.dynamic).toBeUndefined();
    expect(plain?.source.type).toBe("p");
  });

  it.each([
    ['dynamic "t" {\n for_each = [1]\n}', "invalid-dynamic-block 1:13"],
    ['dynamic "t" {\n content {}\n}', "invalid-dynamic-block 1:13"],
    ["dynamic {\n for_each = []\n content {}\n}", "invalid-dynamic-block 1:9"],
    ['dynamic "a" "b" {\n for_each = []\n content {}\n}', "invalid-dynamic-block 1:13"],
    ['dynamic "t" {\n for_each = 1\n content {}\n}', "invalid-dynamic-block 2:13"],
    ['dynamic "t" {\n for_each = null\n content {}\n}', "invalid-dynamic-block 2:13"],
    ['dynamic "t" {\n for_each = nope\n content {}\n}', "unknown-variable 2:13"],
    ['dynamic "t" {\n for_each = []\n other = 1\n content {}\n}', "invalid-dynamic-block 3:2"],
    ['dynamic "t" {\n for_each = []\n iterator = "x"\n content {}\n}', "invalid-dynamic-block 3:13"],
    ['dynamic "t" {\n for_each = []\n content {}\n content {}\n}', "invalid-dynamic-block 4:2"],
    ['dynamic "t" {\n for_each = []\n content "x" {}\n}', "invalid-dynamic-block 3:10"],
    ['dynamic "t" {\n for_each = [1]\n labels = "x"\n content {}\n}', "invalid-dynamic-block 3:12"],
    ['dynamic "t" {\n for_each = [1]\n labels = [[]]\n content {}\n}', "invalid-dynamic-block 3:11"],
    ['dynamic "t" {\n for_each = [1]\n labels = [nope]\n content {}\n}', "unknown-variable 3:12"],
  ])("refuses %j", (text, want) => {
    expect(errors(text)).toEqual([want]);
  });

  it("makes a bounded number of blocks", () => {
    const inner = 'dynamic "u" {\n for_each = range(1000)\n content {}\n}\n';
    const { body } = parse(`dynamic "t" {\n for_each = range(1000)\n content {\n${inner}}\n}\n`);
    const { diagnostics } = expandDynamicBlocks(body, context);
    expect(diagnostics.map((d) => d.code)).toEqual(["limit-exceeded"]);
    expect(expandDynamicBlocks(body, context, { maxBlocks: 1 }).diagnostics).toHaveLength(1);
  });
});
