import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { evaluate, numberText, parse, stdlib, valueToJs } from "../src/index.ts";
import type { Block, Body, Expression, Value } from "../src/index.ts";
import positions from "./fixtures/bad-positions.json" with { type: "json" };
import values from "./fixtures/values.json" with { type: "json" };

const read = (path: string): Uint8Array => readFileSync(new URL(`fixtures/${path}`, import.meta.url));
const files = readdirSync(new URL("fixtures/jobs/", import.meta.url));
const child = (body: Body, type: string): Block => body.blocks.find((b) => b.type === type) as Block;
const value = (e: Expression): Value => {
  const { value: v, diagnostics } = evaluate(e, { functions: stdlib, unknownTraversal: "keep-text" });
  expect(diagnostics).toEqual([]);
  return v as Value;
};

describe("job files that Nomad 2.0.5 accepts", () => {
  it.each(files)("parses %s without a diagnostic", (name) => {
    expect(parse(read(`jobs/${name}`)).diagnostics).toEqual([]);
  });

  it.each(Object.entries(values))("gives the recorded values of %s", (name, want) => {
    const task = child(child(child(parse(read(`jobs/${name}.nomad.hcl`)).body, "job").body, "group").body, "task").body;
    const text = (v: Value): unknown =>
      typeof v === "boolean" || typeof v === "number"
        ? String(v)
        : typeof v === "object" && v !== null && !Array.isArray(v) && !(v instanceof Map)
          ? numberText(v as never)
          : v;
    if (name === "unicode-names") {
      expect(valueToJs(value(task.attribute("env")?.expression as Expression))).toEqual(want.env);
    } else if (want.env !== null) {
      const got = child(task, "env").body.attributes.map((a) => [a.name, text(value(a.expression))]);
      expect(Object.fromEntries(got)).toEqual(want.env);
    }
    const config = child(task, "config").body.attributes.map((a) => [a.name, valueToJs(value(a.expression))]);
    expect(Object.fromEntries(config)).toEqual(want.config);
    const templates = task.blocks
      .filter((b) => b.type === "template")
      .map((b) => value(b.body.attribute("data")?.expression as Expression));
    expect(templates).toEqual(want.templates);
  });
});

describe("job files that Nomad 2.0.5 was asked to refuse", () => {
  it.each(Object.entries(positions))("finds in %s what its parser found", (name, want) => {
    const first = parse(read(`bad/${name}`)).diagnostics[0]?.subject.start;
    if (want === null) expect(first).toBeUndefined();
    else expect(first).toMatchObject(want);
  });
});
