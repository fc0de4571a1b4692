import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  evaluate,
  HclNumber,
  parse,
  parseExpression,
  parseTemplate,
  sourceText,
  stdlib,
  valueFromJs,
  valueToJs,
} from "../src/index.ts";
import type { Expression } from "../src/index.ts";

// The machine may be busy: time is no part of what is tested here.
vi.setConfig({ testTimeout: 60_000 });

const ev = (text: string, x: unknown = null): unknown => {
  const { value, diagnostics } = evaluate(parseExpression(text).expression as Expression, {
    functions: stdlib,
    variables: { x: valueFromJs(x) },
  });
  expect(diagnostics).toEqual([]);
  return valueToJs(value as never);
};

const pieces = fc.constantFrom(
  '"',
  "${",
  "%{",
  "}",
  "{",
  "[",
  "]",
  "(",
  ")",
  "=",
  "\n",
  "<<E\n",
  "<<-E\n",
  "E\n",
  "a",
  " b ",
  "1",
  ".",
  ",",
  "for",
  " in ",
  ":",
  "?",
  "...",
  "=>",
  "~",
  "#",
  "/*",
  "*/",
  "\\",
  "*",
  "if",
  "endif",
  "else",
  "é",
  "\r\n",
  "\ud800",
  "!",
  "-",
  "+",
);
const messy = fc.oneof(
  fc.array(pieces, { maxLength: 60 }).map((p) => p.join("")),
  fc.string({ unit: "binary", maxLength: 100 }),
);

describe("any text", () => {
  it("gives a tree and diagnostics inside of it, never an exception", () => {
    fc.assert(
      fc.property(messy, (text) => {
        const { diagnostics, body } = parse(text);
        const bytes = new TextEncoder().encode(text).length;
        for (const d of diagnostics) {
          const { start, end } = d.subject;
          expect(start.byte).toBeLessThanOrEqual(end.byte);
          expect(end.byte).toBeLessThanOrEqual(bytes);
          expect(start.line).toBeGreaterThan(0);
          expect(start.column).toBeGreaterThan(0);
        }
        for (const a of body.attributes) {
          expect(sourceText(a.range).startsWith(a.name)).toBe(true);
          evaluate(a.expression, { functions: stdlib, unknownTraversal: "keep-text", limits: { maxSteps: 10_000 } });
        }
        parseExpression(text);
        parseTemplate(text);
      }),
      { numRuns: 500 },
    );
  });

  it("is the same as bytes", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          messy.filter((t) => t === new TextDecoder().decode(new TextEncoder().encode(t))),
          fc.string({ unit: "grapheme" }),
        ),
        (text) => {
          expect(JSON.stringify(parse(new TextEncoder().encode(text)).diagnostics)).toBe(
            JSON.stringify(parse(text).diagnostics),
          );
        },
      ),
    );
  });
});

describe("data", () => {
  const literal = (text: string): string =>
    `"${text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("${", "$$${").replaceAll("%{", "%%{")}"`;

  it("of a quoted string is the string", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }).filter((s) => !/[$%][$%]\{|\$\$|%%/.test(s)),
        (s) => {
          expect(ev(literal(s))).toBe(s);
        },
      ),
    );
  });

  it("survives JSON and YAML", () => {
    const data = fc
      .jsonValue({ maxDepth: 4, noUnicodeString: false })
      .map((x) => JSON.parse(JSON.stringify(x).replaceAll("__proto__", "proto")) as unknown);
    const plain = (x: unknown): unknown => JSON.parse(JSON.stringify(x)) as unknown;
    fc.assert(
      fc.property(data, (x) => {
        expect(plain(ev("jsondecode(jsonencode(x))", x))).toEqual(plain(x));
        expect(plain(ev("yamldecode(yamlencode(x))", x))).toEqual(plain(x));
      }),
    );
  });

  it("of whole numbers is exact", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }),
        fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }),
        (a, b) => {
          const js = (n: bigint): string => String(BigInt(ev(`${n}`) as number | bigint));
          expect(js(a)).toBe(String(a));
          expect(String(BigInt(ev(`${a} + ${b}`) as bigint))).toBe(String(a + b));
          expect(String(BigInt(ev(`${a} - ${b}`) as bigint))).toBe(String(a - b));
          expect(String(BigInt(ev(`${a} * ${b}`) as bigint))).toBe(String(a * b));
          expect(ev(`${a} < ${b}`)).toBe(a < b);
          if (b !== 0n) expect(String(BigInt(ev(`${a} % ${b}`) as bigint))).toBe(String(a % b));
        },
      ),
    );
  });

  it("of numbers is their shortest decimal text", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (n) => {
        const text = HclNumber.parse(String(n))?.toString() ?? "";
        expect(Number(text)).toBe(n === 0 ? 0 : n);
        expect(HclNumber.parse(text)?.toString()).toBe(text);
        expect(HclNumber.parse(String(n))?.toNumber()).toBe(n === 0 ? 0 : n);
      }),
    );
  });
});
