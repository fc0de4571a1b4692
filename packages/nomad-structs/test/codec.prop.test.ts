import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as s from "../src/index.ts";

const instant = fc.date({ min: new Date(0), max: new Date("2200-01-01"), noInvalidDate: true });
const nanos = fc.integer({ min: 0, max: 999_999_999 });
/** Times as Go writes them: UTC, no trailing zeros. */
const timeArb = fc.tuple(instant, nanos).map(([d, ns]) => {
  const fraction = ns === 0 ? "" : `.${String(ns).padStart(9, "0").replace(/0+$/, "")}`;
  return `${d.toISOString().slice(0, 19)}${fraction}Z`;
});

/** Values of a field, straight from its description: each new struct is covered without a new generator. */
function valueOf(field: s.Field<unknown>, depth: number): fc.Arbitrary<unknown> {
  const item = field.item as s.Field<unknown>;
  switch (field.kind) {
    case "str":
      return fc.string({ maxLength: 12 });
    case "bool":
      return fc.boolean();
    case "float":
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => (Object.is(x, -0) ? 0 : x));
    case "unixNano":
    case "duration":
      return fc.integer({ min: 0, max: 4_000_000_000 }).map((x) => x * 1e9);
    case "int": {
      const bits = Math.min(field.bits ?? 64, 53);
      const top = field.unsigned === true || field.bits === 64 ? 2 ** bits - 1 : 2 ** (bits - 1) - 1;
      return fc.integer({ min: field.unsigned === true ? 0 : -top, max: top }).map((x) => x + 0);
    }
    case "time":
      return fc.option(timeArb, { nil: null });
    case "bytes":
      return fc.option(
        fc.uint8Array({ maxLength: 9 }).map((x) => Buffer.from(x).toString("base64")),
        { nil: null },
      );
    case "any":
      return fc
        .jsonValue({ maxDepth: 2 })
        .map((x) => JSON.parse(JSON.stringify(x)) as unknown)
        .filter((x) => !JSON.stringify(x).includes("__proto__"));
    case "ptr":
      return depth > 3 ? fc.constant(null) : fc.option(valueOf(item, depth), { nil: null });
    case "list":
      return depth > 3 ? fc.constant(null) : fc.option(fc.array(valueOf(item, depth), { maxLength: 2 }), { nil: null });
    case "map":
      return depth > 3
        ? fc.constant(null)
        : fc.option(
            fc.dictionary(
              fc.string({ minLength: 1, maxLength: 4 }).filter((k) => k !== "__proto__"),
              valueOf(item, depth),
              { maxKeys: 2 },
            ),
            { nil: null },
          );
    default:
      return structOf(field.struct as s.Struct<unknown>, depth + 1);
  }
}

function structOf(of: s.Struct<unknown>, depth = 0): fc.Arbitrary<Record<string, unknown>> {
  const shape: Record<string, fc.Arbitrary<unknown>> = {};
  for (const [key, field] of of.entries) if (field.submittedOnly !== true) shape[key] = valueOf(field, depth);
  return fc.record(shape, { noNullPrototype: true });
}

/** Empty lists and maps of structs that leave zeros out come back as null: Nomad does not tell them apart. */
const normal = <T>(of: s.Struct<T>, value: unknown): T => s.decode(of, s.encode(of, value as T));

const STRUCTS = Object.entries(s).filter(([name]) => name.endsWith("Struct")) as [string, s.Struct<unknown>][];

describe("every description", () => {
  it("has a name of its own", () => {
    const names = STRUCTS.map(([, of]) => of.name);
    expect(new Set(names).size).toBe(names.length);
    for (const [name, of] of STRUCTS) expect(name).toBe(`${of.name}Struct`);
  });

  for (const [name, of] of STRUCTS) {
    it(`${name} survives JSON text and msgpack`, () => {
      fc.assert(
        fc.property(structOf(of), (value) => {
          const once = normal(of, value);
          const text = JSON.stringify(s.encode(of, once));
          expect(s.decode(of, JSON.parse(text))).toEqual(once);
          expect(s.decodeMsgpack(of, s.encodeMsgpack(of, once))).toEqual(once);
        }),
        { numRuns: 15 },
      );
    });
  }
});
