import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileFilter } from "../../src/http/filter.ts";
import { HttpError } from "../../src/http/http-error.ts";
import { parseGoDuration } from "../../src/http/query-options.ts";

const row = {
  ID: "web",
  Type: "service",
  ParentID: "",
  Periodic: false,
  ParameterizedJob: true,
  Meta: { owner: "a" },
  Datacenters: ["dc1"],
  Stop: null,
  Name: "a-b",
};

describe("filters", () => {
  it.each([
    ['ID == "web"', true],
    ["ID == web", true],
    ["ID == `web`", true],
    ['ID != "web"', false],
    ['Type == "batch" or ID == "web"', true],
    ['Type == "batch" and ID == "web"', false],
    ['not Type == "batch"', true],
    ['not (Type == "batch" or ID == "web")', false],
    ['ParentID == "" and ParameterizedJob is not nil', true],
    ["Periodic is not nil", false],
    ["Periodic is nil", true],
    ["ParentID is empty", true],
    ["Meta is not empty", true],
    ["Datacenters is empty", false],
    ['Meta.owner == "a"', true],
    ['Meta.nope == "a"', false],
    ['Datacenters contains "dc1"', true],
    ['Name contains "-"', true],
    ['Meta contains "owner"', true],
    ['Stop contains "x"', false],
    ['"dc1" in Datacenters', true],
    ["dc2 in Datacenters", false],
    ["dc2 not in Datacenters", true],
    ['"dc1" not in Datacenters', false],
    ['__proto__.x == "1"', false],
  ])("%s is %s", (text, expected) => expect(compileFilter(text)(row)).toBe(expected));

  it.each([
    "",
    "ID",
    "ID ==",
    "ID matches x",
    "== x",
    "(ID == a",
    "ID == a)",
    "ID == a b",
    "ID is what",
    'ID == "a',
    "ID == §",
    "ID not a",
    "a in (b)",
    `${"(".repeat(30)}a == b${")".repeat(30)}`,
    "a == b or ".repeat(500),
    '"\\q" in a',
    "a == (",
  ])("refuses %j by name", (text) => {
    expect(() => compileFilter(text)).toThrow(HttpError);
  });

  it("ends on any text", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        try {
          expect(typeof compileFilter(text)(row)).toBe("boolean");
        } catch (reason) {
          expect(reason).toBeInstanceOf(HttpError);
        }
      }),
    );
  });

  it.each([
    ["1m30s", 90_000],
    ["1.5h", 5_400_000],
    ["250ms", 250],
    ["1us", 0.001],
    ["-5s", -5000],
    ["0", 0],
    ["5", undefined],
    ["", undefined],
    ["1m ", undefined],
  ])("reads the wait %j as %s ms", (text, ms) => expect(parseGoDuration(text)).toBe(ms));
});
