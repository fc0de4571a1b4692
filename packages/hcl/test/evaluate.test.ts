import { describe, expect, it } from "vitest";
import { evaluate, FunctionError, parse, parseExpression, parseTemplate, sourceText, stdlib } from "../src/index.ts";
import type { EvalContext, Expression, HclFunction } from "../src/index.ts";
import { ev, place, why } from "./ev.ts";

const vars = {
  s: "text",
  n: 5,
  b: true,
  l: [1, "two", null],
  m: { b: 2, a: 1 },
  o: { x: { y: [10, 20] } },
  nothing: null,
};

describe("values", () => {
  it.each<[string, unknown]>([
    ["1", 1],
    ["-5", -5],
    ["- -5", 5],
    ["1e3", 1000],
    ["0.1 + 0.2", 0.3],
    ["1 / 4", 0.25],
    ["7 % 3", 1],
    ["-7 % 3", -1],
    ["1 + 2 * 3 - 4 / 2", 5],
    ["5 - 5", 0],
    ["9007199254740993", 9007199254740993n],
    ["9007199254740992 + 1", 9007199254740993n],
    ["9007199254740993 - 1", 9007199254740992],
    ["12345678901234567890 * 10", 123456789012345678900n],
    ["-12345678901234567890", -12345678901234567890n],
    ["1 / 3 * 3", 1],
    ["1 / 0", Infinity],
    ["-1 / 0", -Infinity],
    ["1 / 0 + 1", Infinity],
    ["1 - 1 / 0", -Infinity],
    ["2 * (1 / 0)", Infinity],
    ["5 / (1 / 0)", 0],
    ["1 / 0 > 12345678901234567890", true],
    ["12345678901234567890 < 1 / 0", true],
    ["-1 / 0 < -5", true],
    ["1.5 < 12345678901234567890", true],
    ["12345678901234567890 == 12345678901234567890", true],
    ["1 == 1.0", true],
    ["1 < 2", true],
    ["2 <= 1", false],
    ["2 > 1", true],
    ["2 >= 3", false],
    ['"a" == "a"', true],
    ['1 == "1"', false],
    ["1 != 2", true],
    ["[1, {a = [2]}] == [1, {a = [2]}]", true],
    ["[1] == [1, 2]", false],
    ["{a = 1} == {b = 1}", false],
    ["{a = 1} == {a = 2}", false],
    ["{a = 1} == {a = 1, b = 2}", false],
    ["null == null", true],
    ["nothing == null", true],
    ["true && false", false],
    ["true || x.y", true],
    ["false && x.y", false],
    ['"true" && true', true],
    ["!b", false],
    ['"42" + 1', 43],
    ["b ? 1 : 2", 1],
    ["b ? null : 2", null],
    ['b ? 1 : "a"', "1"],
    ["b ? [1] : [2, 3]", [1]],
    ['b ? [1] : ["a", "b"]', ["1"]],
    ['b ? {a = 1} : {a = "x"}', { a: "1" }],
    ['b ? {a = 1} : {b = "x"}', { a: "1" }],
    ["b ? {a = 1} : {}", { a: 1 }],
    ["b ? [] : [1]", []],
    ["b ? 1 : x.y", 1],
    ["false ? 1 : 2", 2],
    ['"a${s}b"', "atextb"],
    ['"${n}"', 5],
    ['"${n} ${b}"', "5 true"],
    ['"${[1]}"', [1]],
    ['"$${s} %%{if} $$$${s} 5$ 6%"', "${s} %{if} $$${s} 5$ 6%"],
    ['"\\n\\r\\t\\"\\\\\\u00e9\\U0001F600"', '\n\r\t"\\é😀'],
    ['"a  ${~ s ~}  b"', "atextb"],
    ['"%{if b}yes%{else}no%{endif}"', "yes"],
    ['"%{if !b}yes%{else}no%{endif}"', "no"],
    ['"%{if !b}yes%{endif}"', ""],
    ['"%{for x in [1, 2]}<${x}>%{endfor}"', "<1><2>"],
    ['"%{for k, v in m}${k}=${v};%{endfor}"', "a=1;b=2;"],
    ['"%{for x in [1, 2]}%{if x == 1}a%{else}b%{endif}%{endfor}"', "ab"],
    ["<<E\nline ${n}\n  two\nE\n", "line 5\n  two\n"],
    ["<<-E\n    x\n\n      y ${s}\n   \n    E\n", "x\n\n  y text\n   \n"],
    ["<<-E\n  ${s}\n  b\n  E\n", "text\nb\n"],
    ["<<-E\n${s}\n  b\n  E\n", "text\n  b\n"],
    ["<<-E\n    %{ for x in [1, 2] ~}\n    ${x}\n    %{ endfor ~}\n    E\n", "    1\n    2\n"],
    ["<<E\n\\n $${s}\nE\n", "\\n ${s}\n"],
    ["<<E\nE\n", ""],
    ["[for x in [1, 2, 3] : x * 2]", [2, 4, 6]],
    ["[for x in [1, 2, 3] : x if x != 2]", [1, 3]],
    ["[for i, x in l : i]", [0, 1, 2]],
    ["[for k, v in m : k]", ["a", "b"]],
    ["{for k, v in m : v => k}", { 1: "a", 2: "b" }],
    ['{for x in ["a", "b", "a"] : x => 1...}', { a: [1, 1], b: [1] }],
    [
      "[for x in [1, 2] : [for y in [10, 20] : x + y]]",
      [
        [11, 21],
        [12, 22],
      ],
    ],
    ['{a = 1, "b" = 2, (s) = 3, 4 = 5, true = 6, null : 7}', { a: 1, b: 2, text: 3, 4: 5, true: 6, null: 7 }],
    ['{"${s}-x" = 1}', { "text-x": 1 }],
    ["{a = 1, a = 2}", { a: 2 }],
    ["{\n a = 1\n\n b = 2, c = 3\n}", { a: 1, b: 2, c: 3 }],
    ["o.x.y[1]", 20],
    ['o["x"].y.0', 10],
    ['l["1"]', "two"],
    ['m[s == "text" ? "a" : "b"]', 1],
    ["[10, 20][n - 4]", 20],
    ["{1 = 2}[1]", 2],
    ["[{a = 1}, {a = 2}][*].a", [1, 2]],
    ["[{a = [1, 2]}, {a = [3, 4]}].*.a.0", [1, 3]],
    ["[{a = [{b = 1}]}][*].a[*].b", [[1]]],
    ["[[1, 2]][*][1]", [2]],
    ["m[*].a", [1]],
    ["nothing[*].a", []],
    ["nothing.*.a", []],
    ["5[*]", [5]],
    ["(1 +\n 2)", 3],
    ["upper(s)", "TEXT"],
    ["max([1, 5, 3]...)", 5],
    ["try(o.z, o.x.q, 3)", 3],
    ["can(o.z)", false],
    ["can(o.x)", true],
    ["[for x in [1] : try(x.y, x)]", [1]],
    ["convert([1, 2], list(string))", ["1", "2"]],
    ['convert({a = "1"}, object({a = number, b = optional(bool, true)}))', { a: 1, b: true }],
  ])("of %s", (text, want) => {
    expect(ev(text, vars)).toEqual(want);
  });
});

describe("errors", () => {
  it.each<[string, string]>([
    ["x", "unknown-variable 1:1"],
    ["1 + x.y", "unknown-variable 1:5"],
    ["o.z", "unknown-attribute 1:2"],
    ["s.z", "unknown-attribute 1:2"],
    ["nothing.z", "unknown-attribute 1:8"],
    ["l[3]", "invalid-index 1:2"],
    ["l[0.5]", "invalid-index 1:2"],
    ["l[-1]", "invalid-index 1:2"],
    ["l[null]", "invalid-index 1:2"],
    ["l[true]", "invalid-index 1:2"],
    ["m[[]]", "invalid-index 1:2"],
    ['m["z"]', "invalid-index 1:2"],
    ["nothing[0]", "invalid-index 1:8"],
    ["5[0]", "invalid-index 1:2"],
    ["1 + null", "invalid-operand 1:5"],
    ["[] + 1", "invalid-operand 1:1"],
    ['"a" * 2', "invalid-operand 1:1"],
    ["!5", "invalid-operand 1:2"],
    ["-s", "invalid-operand 1:2"],
    ["1 && true", "invalid-operand 1:1"],
    ["true && 1", "invalid-operand 1:9"],
    ["1 < []", "invalid-operand 1:5"],
    ["0 / 0", "invalid-operand 1:1"],
    ["1 % 0", "invalid-operand 1:1"],
    ["1 / 0 - 1 / 0", "invalid-operand 1:1"],
    ["(1 / 0) % 2", "invalid-operand 1:1"],
    ["5 ? 1 : 2", "invalid-condition 1:1"],
    ["null ? 1 : 2", "invalid-condition 1:1"],
    ["b ? 1 : true", "inconsistent-types 1:5"],
    ["b ? [1] : {}", "inconsistent-types 1:5"],
    ["b ? 1 : []", "inconsistent-types 1:5"],
    ["b ? [true] : [1, 2]", "inconsistent-types 1:5"],
    ["b ? {a = true} : {b = 1}", "inconsistent-types 1:5"],
    ["b ? x : 1", "unknown-variable 1:5"],
    ['"a${l}"', "invalid-template-value 1:5"],
    ['"a${null}"', "invalid-template-value 1:5"],
    ['"%{if 5}x%{endif}"', "invalid-condition 1:7"],
    ['"%{for x in 5}x%{endfor}"', "invalid-iteration 1:13"],
    ["[for x in 5 : x]", "invalid-iteration 1:11"],
    ["[for x in null : x]", "invalid-iteration 1:11"],
    ["[for x in [1] : x if 5]", "invalid-condition 1:22"],
    ["{for x in [1, 1] : x => x}", "duplicate-object-key 1:20"],
    ["{for x in [[]] : x => x}", "invalid-object-key 1:18"],
    ["{(null) = 1}", "invalid-object-key 1:2"],
    ["{([]) = 1}", "invalid-object-key 1:2"],
    ["{a.b = 1}", "invalid-object-key 1:2"],
    ["nope(1)", "unknown-function 1:1"],
    ["upper()", "too-few-arguments 1:7"],
    ["max()", "too-few-arguments 1:5"],
    ['upper("a", "b")', "too-many-arguments 1:13"],
    ["upper(null)", "invalid-argument 1:7"],
    ["upper([])", "invalid-argument 1:7"],
    ['join(",", 5)', "invalid-argument 1:11"],
    ['join(",", [[]])', "invalid-argument 1:11"],
    ["max(5...)", "invalid-argument 1:5"],
    ["max(null...)", "invalid-argument 1:5"],
    ["upper(x)", "unknown-variable 1:7"],
    ["try([x]...)", "unknown-variable 1:6"],
    ["try([1]...)", "invalid-argument 1:5"],
    ['jsondecode("{")', "function-failed 1:1"],
    ["try(x, y)", "function-failed 1:1"],
    ["convert(1, nope)", "invalid-type 1:12"],
    ['convert("a", number)', "function-failed 1:10"],
    ['convert(["a"], list(number))', "function-failed 1:9"],
  ])("of %j is %s", (text, want) => {
    expect(ev(text, vars)).toBe(want);
  });

  it("are reported for all independent parts", () => {
    const all = (text: string): string[] =>
      evaluate(parseExpression(text).expression as Expression, { functions: stdlib }).diagnostics.map(
        (d) => `${d.code}@${d.subject.start.column}`,
      );
    expect(all("[a, 1, b]")).toEqual(["unknown-variable@2", "unknown-variable@8"]);
    expect(all("{x = a, y = b}")).toEqual(["unknown-variable@6", "unknown-variable@13"]);
    expect(all('"${a}-${b}"')).toEqual(["unknown-variable@4", "unknown-variable@9"]);
    expect(all("concat(a, b)")).toEqual(["unknown-variable@8", "unknown-variable@11"]);
    expect(all("parseint([], {})")).toEqual(["invalid-argument@10", "invalid-argument@14"]);
  });

  it("say what is wrong", () => {
    expect(why('join(",", 5)')).toBe('Invalid value for "lists": list of string required, but have number.');
    expect(why('join(",", [1, []])')).toBe('Invalid value for "lists" at [1]: string required, but have tuple.');
    expect(why("x")).toBe('There is no variable named "x".');
    expect(why("try(upper(), lower(1, 2))")).toMatch(
      /^The call of try failed: no expression has a value; the last one says: lower takes/,
    );
  });
});

describe("contexts", () => {
  const of = (text: string, context: EvalContext): unknown => {
    const { value, diagnostics } = evaluate(parseExpression(text).expression as Expression, context);
    return value === undefined ? place(diagnostics) : value;
  };

  it("look names up outwards, maps and objects alike", () => {
    const outer: EvalContext = {
      variables: new Map([
        ["a", 1],
        ["b", 2],
      ]),
      functions: new Map<string, HclFunction>([["f", { params: [], call: () => "f" }]]),
    };
    const inner: EvalContext = { variables: { a: 10 }, parent: outer };
    expect(of("a + b", inner)).toBe(12);
    expect(of("f()", inner)).toBe("f");
    expect(of("[for a in [7] : a + b]", inner)).toEqual([9]);
    expect(of("c", inner)).toBe("unknown-variable 1:1");
  });

  it("keep the text of unknown traversals on demand", () => {
    const keep: EvalContext = { unknownTraversal: "keep-text", variables: { known: 1 } };
    expect(of("attr.kernel.name", keep)).toBe("${attr.kernel.name}");
    expect(of('"${ attr.kernel.name }"', keep)).toBe("${attr.kernel.name}");
    expect(of('"--ip=${NOMAD_IP_http} ${env["HOME"]} ${known}"', { parent: keep })).toBe(
      '--ip=${NOMAD_IP_http} ${env["HOME"]} 1',
    );
    expect(of("known.x", keep)).toBe("unknown-attribute 1:6");
  });

  it("ask a function about unknown traversals", () => {
    const ask: EvalContext = { unknownTraversal: (t, text) => (t.root === "env" ? `<${text}>` : undefined) };
    expect(of("env.HOME", ask)).toBe("<env.HOME>");
    expect(of("other", ask)).toBe("unknown-variable 1:1");
  });

  it("let other errors of a function through", () => {
    const boom: HclFunction = {
      params: [],
      call: () => {
        throw new TypeError("boom");
      },
    };
    expect(() => of("f()", { functions: { f: boom } })).toThrow("boom");
    const unknown: EvalContext["unknownTraversal"] = () => {
      throw new TypeError("bang");
    };
    expect(() => of("[a]", { unknownTraversal: unknown })).toThrow("bang");
    expect(() => of("{x = a}", { unknownTraversal: unknown })).toThrow("bang");
    expect(() => of('"a${a}"', { unknownTraversal: unknown })).toThrow("bang");
    expect(() =>
      of("f(a)", {
        functions: { f: { ...boom, params: [{ name: "x", type: "dynamic" }] } },
        unknownTraversal: unknown,
      }),
    ).toThrow("bang");
    expect(() => of("true ? 1 : a", { unknownTraversal: unknown })).toThrow("bang");
  });

  it("take the simple types of parameters by word", () => {
    const functions: Record<string, HclFunction> = {
      twice: { params: [{ name: "n", type: "number" }], call: ([n]) => Number(n) * 2 },
      both: {
        params: [
          { name: "s", type: "string" },
          { name: "b", type: "bool" },
          { name: "a", type: "any" },
        ],
        call: (args) => args,
      },
    };
    expect(of('twice("21")', { functions })).toBe(42);
    expect(of('both(1, "true", [2])', { functions })).toEqual(["1", true, [2]]);
    expect(of('twice("x")', { functions })).toBe("invalid-argument 1:8");
  });

  it("let a function point at its argument, use its scope and count its work", () => {
    const functions: Record<string, HclFunction> = {
      second: {
        params: [
          { name: "a", type: "dynamic" },
          { name: "b", type: "dynamic" },
        ],
        call: () => {
          throw new FunctionError("no", 1);
        },
      },
      twice: {
        params: [{ name: "e", type: "expression" }],
        call: (_, c) => {
          c.charge(1);
          return [
            c.evaluate(c.expressions[0] as Expression).value ?? "none",
            sourceText((c.expressions[0] as Expression).range),
          ];
        },
      },
    };
    expect(new FunctionError("x")).toMatchObject({
      code: "function-failed",
      recoverable: false,
      [Symbol.for("outrider.error")]: true,
    });
    expect(of("second(1, 2 + 3)", { functions })).toBe("function-failed 1:11");
    expect(of("[for x in [1] : twice(x + 1)]", { functions })).toEqual([[2, "x + 1"]]);
  });
});

describe("templates", () => {
  it("evaluate a bare template", () => {
    const { expression } = parseTemplate('Hello ${name}%{ if loud }!%{ endif } "quoted" \\n');
    expect(evaluate(expression as Expression, { variables: { name: "you", loud: true } }).value).toBe(
      'Hello you! "quoted" \\n',
    );
    expect(evaluate(parseTemplate("").expression as Expression, {}).value).toBe("");
  });

  it("keep values of heredocs in files", () => {
    const { body } = parse("a = [<<E\nx\nE\n, 1]\nb = upper(<<-E\n  y\n  E\n)\n");
    expect(body.attributes.map((a) => evaluate(a.expression, { functions: stdlib }).value)).toEqual([
      ["x\n", 1],
      "Y\n",
    ]);
  });
});
