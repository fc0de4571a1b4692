import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseGoFlags, UsageError } from "../../src/cli/go-flags.ts";

const SPEC = { address: "string", json: "bool", t: "bool", task: "string", meta: "list", n: "int" } as const;

describe("command lines in Go's manner", () => {
  it("reads the line that no library reads", () => {
    const flags = parseGoFlags(
      "-address=http://h:1 -json -t=false -task web -meta a=1 --meta b=2 abc123 ls -la".split(" "),
      SPEC,
    );
    expect([
      flags.string("address"),
      flags.bool("json"),
      flags.bool("t"),
      flags.has("t"),
      flags.string("task"),
      flags.list("meta"),
    ]).toEqual(["http://h:1", true, false, true, "web", ["a=1", "b=2"]]);
    expect(flags.args).toEqual(["abc123", "ls", "-la"]);
  });

  it("ends the flags at -- and takes a lone dash as an argument", () => {
    expect(parseGoFlags(["-json", "--", "-t"], SPEC).args).toEqual(["-t"]);
    expect(parseGoFlags(["-", "-t"], SPEC).args).toEqual(["-", "-t"]);
  });

  it.each([
    [["-nope"], "nope"],
    [["-json=maybe"], "json"],
    [["-task"], "task"],
    [["-n", "ten"], "n"],
    [["-n=1.5"], "n"],
    [["---json"], "---json"],
    [["-=x"], "-=x"],
    [["-h"], "help"],
    [["--help"], "help"],
    [["-__proto__=1"], "__proto__"],
  ])("refuses %j and names the flag", (argv, flag) => {
    expect(() => parseGoFlags(argv, SPEC)).toThrow(expect.objectContaining({ code: "ERR_OUTRIDER_CLI_USAGE", flag }));
  });

  it("keeps the last of a repeated flag, and defaults of absent ones", () => {
    const flags = parseGoFlags(["-n", "1", "-n=-7", "-json=0", "-json=T"], SPEC);
    expect([
      flags.int("n", 3),
      flags.bool("json"),
      flags.int("x", 3),
      flags.string("task", "d"),
      flags.list("meta"),
    ]).toEqual([-7, true, 3, "d", []]);
  });

  it("gives a value or a usage error for any words", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 8 }), { maxLength: 6 }), (argv) => {
        try {
          parseGoFlags(argv, SPEC);
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
        }
      }),
    );
  });
});
