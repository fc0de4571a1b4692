import { describe, expect, it } from "vitest";
import { JobStruct, jsonSchema, NodeStruct, PortStruct, type JsonSchema } from "../src/index.ts";

/** A tiny checker of the keywords that the schemas use; anything else in a schema is an error. */
function accepts(schema: JsonSchema, value: unknown, defs: Record<string, JsonSchema>): boolean {
  for (const [key, rule] of Object.entries(schema)) {
    if (key === "$schema" || key === "$defs" || key === "format" || key === "contentEncoding") continue;
    if (key === "$ref") {
      if (!accepts(defs[(rule as string).slice("#/$defs/".length)] as JsonSchema, value, defs)) return false;
    } else if (key === "anyOf") {
      if (!(rule as JsonSchema[]).some((s) => accepts(s, value, defs))) return false;
    } else if (key === "type") {
      const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
      if (rule === "integer" ? !Number.isInteger(value) : type !== rule) return false;
    } else if (key === "minimum") {
      if ((value as number) < (rule as number)) return false;
    } else if (key === "maximum") {
      if ((value as number) > (rule as number)) return false;
    } else if (key === "items") {
      if (!(value as unknown[]).every((x) => accepts(rule as JsonSchema, x, defs))) return false;
    } else if (key === "properties") {
      for (const [name, sub] of Object.entries(rule as Record<string, JsonSchema>)) {
        if (name in (value as object) && !accepts(sub, (value as Record<string, unknown>)[name], defs)) return false;
      }
    } else if (key === "additionalProperties") {
      const known = Object.keys((schema["properties"] as object | undefined) ?? {});
      for (const [name, x] of Object.entries(value as object)) {
        if (known.includes(name)) continue;
        if (rule === false || !accepts(rule as JsonSchema, x, defs)) return false;
      }
    } else throw new Error(`unknown keyword ${key}`);
  }
  return true;
}

const check = (schema: JsonSchema, value: unknown): boolean =>
  accepts(schema, value, schema["$defs"] as Record<string, JsonSchema>);

describe("jsonSchema", () => {
  const job = jsonSchema(JobStruct);

  it("takes what decoding takes", () => {
    const good = {
      ID: "a",
      Payload: "AAE=",
      Meta: { a: "b" },
      SubmitTime: 1_796_043_450_000_000_000,
      TaskGroups: [{ Count: 2, Tasks: [{ Config: { x: [1] }, KillTimeout: 5e9, Env: null }] }],
    };
    expect(check(job, good)).toBe(true);
    expect(check(jsonSchema(NodeStruct), { Drivers: { a: { UpdateTime: "2026-11-30T12:56:35Z" } } })).toBe(true);
  });

  it.each([
    { ID: 5 },
    { Meta: { a: 1 } },
    { Priority: 1.5 },
    { Version: -1 },
    { Affinities: [{ Weight: 500 }] },
    { Affinities: [{ Weight: -129 }] },
    { TaskGroups: [{ Tasks: [{ Leader: "yes" }] }] },
  ])("refuses %j", (bad) => {
    expect(check(job, bad)).toBe(false);
  });

  it("refuses unknown keys on demand", () => {
    expect(check(jsonSchema(PortStruct), { Colour: 1 })).toBe(true);
    expect(check(jsonSchema(PortStruct, { refuseUnknown: true }), { Colour: 1 })).toBe(false);
  });

  it("defines every struct once", () => {
    expect(Object.keys(job["$defs"] as object)).toContain("TaskGroup");
    expect(JSON.stringify(job).match(/"EphemeralDisk":\{"type"/g)).toHaveLength(1);
  });
});
