import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  canonicalizeJob,
  formatDiagnostics,
  noFiles,
  parseJobFile,
  parseJobJson,
  validateJob,
  type ParseJobFileOptions,
} from "../src/jobspec/index.ts";

const parse = (text: string, o: Partial<ParseJobFileOptions> = {}): ReturnType<typeof parseJobFile> =>
  parseJobFile(text, { filename: "a.hcl", ...o });
const faults = (text: string, o: Partial<ParseJobFileOptions> = {}): string =>
  formatDiagnostics(parse(text, o).diagnostics, text);

/** A job whose task has this inside, after these top-level blocks. */
const jobText = (inner = "", top = ""): string =>
  `${top}\njob "x" {\n group "g" {\n  task "t" {\n   driver = "raw_exec"\n   ${inner}\n  }\n }\n}\n`;
const taskOf = (text: string, o: Partial<ParseJobFileOptions> = {}): Record<string, unknown> => {
  const { job, diagnostics } = parse(text, o);
  expect(formatDiagnostics(diagnostics)).toBe("");
  return job?.TaskGroups?.[0]?.Tasks?.[0] as Record<string, unknown>;
};

let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "jobspec-"));
  mkdirSync(join(dir, "sub", "deep"), { recursive: true });
  for (const name of ["a.txt", "b.txt", "c.md", "sub/d.txt", "sub/deep/e.txt"]) writeFileSync(join(dir, name), name);
  writeFileSync(join(dir, "raw.bin"), Buffer.from([0xff, 0xfe]));
  writeFileSync(join(dir, "huge.txt"), "x".repeat(1024 * 1024 + 1));
  writeFileSync(join(dir, "v.vars"), 'n = 7\nother = "x"\n');
  writeFileSync(join(dir, "v.json"), '{"n": 8, "m": {"a": "b"}}');
  writeFileSync(join(dir, "list.json"), "[1]");
  writeFileSync(join(dir, "broken.json"), "{");
  writeFileSync(join(dir, "block.vars"), "a {}\n");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("variables", () => {
  const n = 'variable "n" {\n type = number\n default = 1\n}\n';
  const showN = "env { N = var.n }";
  const N = (o: Partial<ParseJobFileOptions>): unknown => (taskOf(jobText(showN, n), o)["Env"] as { N: string }).N;

  it("take their default, then the environment, then files in order, then -var", () => {
    expect(N({})).toBe("1");
    expect(N({ env: { NOMAD_VAR_n: "2", OTHER: "9", NOMAD_VAR_unknown: "x", NOMAD_VAR_gone: undefined } })).toBe("2");
    const files = { env: { NOMAD_VAR_n: "2" }, cwd: dir, varFiles: ["v.vars", "v.json"], strict: false };
    expect(parse(jobText(showN, n), files).job?.TaskGroups?.[0]?.Tasks?.[0]?.Env).toEqual({ N: "8" });
    expect(N({ env: { NOMAD_VAR_n: "2" }, vars: { n: "3" } })).toBe("3");
  });

  it("are refused when the job file does not declare them, or warned of when it is not strict", () => {
    expect(faults(jobText("", n), { vars: { m: "1" } })).toContain('"m" was given by -var');
    const { job, diagnostics } = parse(jobText("", n), { vars: { m: "1" }, strict: false });
    expect(job).toBeDefined();
    expect(diagnostics).toMatchObject([{ severity: "warning", code: "undeclared-variable" }]);
    expect(formatDiagnostics(diagnostics)).toMatch(/^warning: /);
    expect(faults(jobText("", n), { cwd: dir, varFiles: ["v.vars"] })).toMatch(/^v\.vars:2,1: Undeclared variable/);
  });

  it("suggest the name that was meant", () => {
    expect(faults(jobText("", 'variable "image" {\n default = ""\n}\n'), { vars: { imagge: "1" } })).toContain(
      'Did you mean "image"?',
    );
  });

  it.each([
    ['variable "a" "b" {\n default = 1\n}', "Label too many"],
    ["variable {\n default = 1\n}", "Label missing"],
    [`${n}variable "n" {\n default = 1\n}`, "declared already"],
    ['variable "a" {\n default = 1\n check {}\n}', 'no "check" block'],
    ['variable "a" {\n default = 1\n validation {}\n}', "A validation needs a condition"],
    ['variable "a" {\n type = number\n default = "x"\n}', "does not fit its type"],
    ['variable "a" {\n type = list(number)\n default = ["x"]\n}', "[0]"],
    ["variables {\n a = 1\n}", "Declare each variable"],
    ['variable "a" {\n default = attr.x\n}', "attr"],
  ])("are refused when declared as %j", (top, message) => {
    expect(faults(jobText("", top))).toContain(message);
  });

  it("take texts as they are, other types as expressions", () => {
    const top =
      'variable "s" {}\nvariable "l" {\n type = list(string)\n}\nvariable "b" {\n type = bool\n}\nvariable "a" {\n type = any\n}\n';
    const text = jobText('env {\n S = var.s\n L = join(",", var.l)\n B = var.b\n A = var.a.k\n}', top);
    const env = taskOf(text, { vars: { s: "[1]", l: '["x","y"]', b: "true", a: '{ k = "v" }' } })["Env"];
    expect(env).toEqual({ S: "[1]", L: "x,y", B: "true", A: "v" });
    expect(faults(text, { vars: { s: "", l: "[", b: "true", a: "1" } })).toContain("<value for var.l>:1");
    expect(faults(text, { vars: { s: "", l: "[var.s]", b: "true", a: "1" } })).toContain("var");
    expect(faults(text, { vars: { s: "", l: "[]", b: "maybe", a: "1" } })).toContain("a bool is required");
  });

  it("are checked by their validations", () => {
    const top =
      'variable "n" {\n default = 5\n validation {\n condition = var.n < 9\n error_message = "Too much."\n}\n}\n';
    expect(faults(jobText("", top))).toBe("");
    expect(faults(jobText("", top), { vars: { n: "10" } })).toContain("Too much.");
    const plain = 'variable "n" {\n default = 5\n validation {\n condition = var.n < 3\n}\n}\n';
    expect(faults(jobText("", plain))).toContain("The value is not allowed");
    expect(faults(jobText("", 'variable "n" {\n default = 5\n validation {\n condition = nope()\n}\n}\n'))).toContain(
      "nope",
    );
  });

  it.each([
    ["none.vars", "there is no such file"],
    ["sub", "it is a folder"],
    ["list.json", "must hold one object"],
    ["broken.json", "cannot be read"],
    ["block.vars", "values only"],
    ["huge.txt", "more than 1048576"],
  ])("are refused with the file %s", (file, message) => {
    expect(faults(jobText("", n), { cwd: dir, varFiles: [file] })).toContain(message);
  });

  it("of JSON files are warned of when unknown and not strict", () => {
    const { job, diagnostics } = parse(jobText("", n), { cwd: dir, varFiles: ["v.json"], strict: false });
    expect(job).toBeDefined();
    expect(diagnostics).toHaveLength(1);
  });
});

describe("locals", () => {
  it("may refer to each other in any order, and to all of them", () => {
    const top = 'locals {\n b = "${local.a}!"\n a = "x"\n}\nlocals {\n all = jsonencode(local.c)\n c = { k = 1 }\n}\n';
    const text = jobText(
      'env {\n B = local.b\n ALL = local.all\n N = length(keys({ for k, v in local : k => k if k != "all" }))\n}',
      top,
    );
    expect(taskOf(text)["Env"]).toEqual({ B: "x!", ALL: '{"k":1}', N: "3" });
  });

  it("can be used as a whole", () => {
    const top = "locals {\n a = 1\n b = 2\n}\n";
    const text = jobText(
      'env {\n N = length(local)\n K = join(",", keys(local))\n V = join(",", values(local))\n M = jsonencode(merge(local, {}))\n}',
      top,
    );
    expect(taskOf(text)["Env"]).toEqual({ N: "2", K: "a,b", V: "1,2", M: '{"a":1,"b":2}' });
  });

  it("report a fault once, used or not", () => {
    const found = parse(jobText("", "locals {\n a = nope()\n}\n")).diagnostics;
    expect(found).toHaveLength(1);
  });

  it("report a cycle once, by its names, where it closes", () => {
    expect(faults(jobText("", "locals {\n a = local.a\n}\n"))).toContain("local.a needs local.a.");
    const locals = 'locals {\n a = local.b\n b = "${local["c"]}-x"\n c = upper(local.a)\n user = local.b\n ok = 1\n}\n';
    const { diagnostics } = parse(jobText("", locals));
    expect(diagnostics.map((d) => [d.code, d.detail, d.subject?.start.line])).toEqual([
      ["cyclic-local", "The value is needed for itself: local.a needs local.b needs local.c needs local.a.", 4],
    ]);
    const two = parse(jobText("", "locals {\n a = local.b\n b = local.a\n c = local.c\n d = local.nope\n}\n"));
    expect(two.diagnostics.map((d) => d.code)).toEqual(["cyclic-local", "cyclic-local", "unknown-attribute"]);
  });

  it("may ask for themselves where a failure is expected", () => {
    expect(parse(jobText("", "locals {\n a = try(local.a, 1)\n}\n")).diagnostics).toEqual([]);
  });
});

describe("structure", () => {
  it.each([
    ['job "x" {\n group "g" {\n task {\n}\n}\n}', "needs a label: its name"],
    ['job "x" "y" {\n}', "A job block takes one label"],
    ["a = 1", 'no argument "a" at the top'],
    [jobText("env {\n a {}\n}"), 'no "a" block here'],
    [jobText("env = {}\nenv {\n}"), "as an argument and as a block"],
    [jobText('env = { "__proto__" = "a" }'), "__proto__"],
    [jobText("env {\n __proto__ = 1\n}"), "No argument can have this name"],
    [jobText("config {\n __proto__ = 1\n}"), "no argument can have this name"],
    [jobText('config {\n a = [{ "__proto__" = 1 }]\n}'), "__proto__"],
    [jobText('config {\n a "__proto__" {}\n}'), "can have this name"],
    [jobText("config {\n a = 1\n a {}\n}"), "as an argument and as a block"],
    [jobText("config {\n a = 1e999\n}"), "too large"],
    [jobText("identity {}\nidentity {}"), "Only one identity block"],
    [jobText('scaling "disk" {}'), '"cpu" or "mem"'],
    [jobText("schedule {\n window {}\n}"), 'no "window" block'],
    [jobText("kill_timeout = 1.5"), "whole number"],
    [jobText('kill_timeout = "9999999h"'), "longer than 292 years"],
    [jobText('resources {\n device "gpu" {\n count = -1\n}\n}'), "Devices[0].Count"],
    ['job "x" {\n group "g" {\n volume "v" {}\n volume "v" {}\n}\n}', "two volumes"],
    ['job "x" {\n group "g" {\n volume "__proto__" {}\n}\n}', "cannot have this name"],
    ['job "x" {\n group "g" {\n network {\n port "a" {}\n port "a" {}\n}\n}\n}', "two ports"],
    ['job "x" {\n periodic {\n cron = "@daily"\n crons = []\n}\n}', "not both"],
    ['job "x" {\n spread {\n target "a" {\n percent = 101\n}\n}\n}', "between 0 and 100"],
  ])("refuses %j", (text, message) => {
    expect(parse(text).job).toBeUndefined();
    expect(faults(text)).toContain(message);
  });

  it("takes distinct_hosts = false and operators as arguments, the last kind of them winning", () => {
    const text =
      'job "x" {\n constraint {\n distinct_hosts = false\n}\n constraint {\n attribute = "a"\n version = "1"\n}\n}';
    expect(parse(text).job?.Constraints).toEqual([
      { LTarget: "", RTarget: "", Operand: "=" },
      { LTarget: "a", RTarget: "1", Operand: "version" },
    ]);
  });

  it("gives tasks the vault block of their group before that of their job", () => {
    const text = `job "x" {
  vault { role = "job" }
  group "a" {
    vault { role = "group" }
    task "own" { 
      vault { role = "task" }
    }
    task "of-group" { }
  }
  group "b" {
    task "of-job" { }
  }
}`;
    const roles = parse(text).job?.TaskGroups?.flatMap((g) => g?.Tasks?.map((t) => t?.Vault?.Role) ?? []);
    expect(roles).toEqual(["task", "group", "job"]);
  });

  it("keeps service parts, csi plugins and links", () => {
    const text = `job "x" {
  ui {
    description = "d"
    link {
      label = "l"
      url   = "u"
    }
  }
  group "g" {
    service {
      check {
        header {
          Accept = ["a", "b"]
        }
        check_restart {
          limit = 3
          grace = "5s"
        }
      }
      weights {
        passing = 3
      }
    }
    task "t" {
      csi_plugin {
        id = "p"
      }
    }
  }
}`;
    const { job, diagnostics } = parse(text);
    expect(formatDiagnostics(diagnostics)).toBe("");
    expect(job?.UI).toEqual({ Description: "d", Links: [{ Label: "l", URL: "u" }] });
    const group = job?.TaskGroups?.[0];
    expect(group?.Services?.[0]?.Checks?.[0]).toMatchObject({
      Header: { Accept: ["a", "b"] },
      CheckRestart: { Limit: 3, Grace: 5e9, IgnoreWarnings: false },
    });
    expect(group?.Services?.[0]?.Weights).toEqual({ Passing: 3, Warning: 1 });
    expect(group?.Tasks?.[0]?.CSIPluginConfig).toMatchObject({ ID: "p" });
  });

  it("turns numbers of driver configs into doubles and leaves nulls out", () => {
    const config = taskOf(
      jobText("config {\n big = 12345678901234567890\n o = { a = null, b = [1, null] }\n n = null\n}"),
    )["Config"];
    expect(config).toEqual({ big: 12345678901234567000, o: [{ b: [1, null] }] });
  });
});

describe("file functions", () => {
  const env = (expression: string, o: Partial<ParseJobFileOptions> = {}): unknown =>
    (taskOf(jobText(`env { V = ${expression} }`), { cwd: dir, ...o })["Env"] as { V: string }).V;

  it("read files relative to the working folder", () => {
    expect(env('file("a.txt")')).toBe("a.txt");
    expect(env('filebase64("raw.bin")')).toBe("//4=");
    expect(env('"${fileexists("a.txt")} ${fileexists("z.txt")}"')).toBe("true false");
    expect(env('abspath("sub/../a.txt")')).toBe(join(dir, "a.txt"));
    expect(env(`abspath("${dir}/./a.txt")`)).toBe(join(dir, "a.txt"));
    expect(env('pathexpand("~/a")')).not.toContain("~");
    expect(env('pathexpand("a")')).toBe("a");
  });

  it.each([
    ["*.txt", "a.txt,b.txt,huge.txt"],
    ["{a,c}.*", "a.txt,c.md"],
    ["?.md", "c.md"],
    ["[!a]*.txt", "b.txt,huge.txt"],
    ["sub/*.txt", "sub/d.txt"],
    ["**/e.txt", "sub/deep/e.txt"],
    ["sub/**", "sub/d.txt,sub/deep/e.txt"],
    ["none+.txt", ""],
  ])("find %s", (pattern, found) => {
    expect(env(`join(",", fileset(".", "${pattern}"))`)).toBe(found);
  });

  it.each([
    ['file("none")', "there is no such file"],
    ['file("sub")', "it is a folder"],
    ['file("raw.bin")', "not UTF-8"],
    ['file("huge.txt")', "more than 1048576"],
    ['fileexists("sub")', "no plain file"],
    ['fileset("none", "*")', "there is no such file"],
    ['fileset(".", "[a")', "open bracket"],
    ['fileset(".", "[z-a]")', "cannot be understood"],
  ])("refuse %s", (expression, message) => {
    expect(faults(jobText(`env { V = ${expression} }`), { cwd: dir })).toContain(message);
  });

  it.each(['file("a.txt")', 'fileexists("a.txt")', 'fileset(".", "*")'])(
    "refuse %s where files may not be read",
    (expression) => {
      expect(faults(jobText(`env { V = ${expression} }`), { cwd: dir, files: noFiles })).toContain(
        "cannot be read here",
      );
    },
  );
});

describe("bounds", () => {
  it("stop an expression that would run for ever", () => {
    const big = "range(1000)";
    const text = jobText(`env { V = length([for a in ${big} : [for b in ${big} : [for c in ${big} : 1]]]) }`);
    expect(faults(text)).toContain("too many steps");
  });

  it("stop a file whose expressions together take too long", () => {
    const lines = Array.from(
      { length: 3000 },
      (_, i) => `V${i} = length([for a in range(1000) : [for b in range(100) : b]])`,
    );
    const { job, diagnostics } = parse(jobText(`env {\n${lines.join("\n")}\n}`));
    expect(job).toBeUndefined();
    expect(diagnostics[0]?.code).toBe("limit-exceeded");
  });

  it("evaluate many small expressions", () => {
    const lines = Array.from({ length: 5000 }, (_, i) => `V${i} = "\${upper("a")}${i}"`);
    expect(Object.keys(taskOf(jobText(`env {\n${lines.join("\n")}\n}`))["Env"] as object)).toHaveLength(5000);
  });

  it("stop dynamic blocks that multiply", () => {
    let text = 'artifact {\n source = "x"\n}';
    for (let i = 0; i < 6; i += 1) text = `dynamic "a${i}" {\n for_each = range(100)\n content {\n${text}\n}\n}`;
    expect(faults(jobText(text))).toMatch(/too many blocks|limit/);
  });

  it("refuse deep nesting in HCL and JSON without exhausting the stack", () => {
    const deep = `config { a = ${"[".repeat(5000)}${"]".repeat(5000)} }`;
    expect(parse(jobText(deep)).job).toBeUndefined();
    let value = "1";
    for (let i = 0; i < 20_000; i += 1) value = `{"a":${value}}`;
    expect(() => parseJobJson(`{"Job":{"ID":"x","TaskGroups":[{"Tasks":[{"Config":${value}}]}]}}`)).toThrow(
      /nested deeper/,
    );
  });

  it("refuse a file that is too large", () => {
    expect(faults("#".repeat(5 * 1024 * 1024))).toMatch(/too large|larger|bytes/i);
    expect(() => parseJobJson(" ".repeat(5 * 1024 * 1024))).toThrow(/longer than/);
  });
});

describe("job JSON", () => {
  const job = { ID: "x", TaskGroups: [{ Name: "g", Tasks: [{ Name: "t", Driver: "raw_exec" }] }] };

  it("is read bare or inside an object", () => {
    expect(parseJobJson(JSON.stringify(job))).toEqual(job);
    expect(parseJobJson(JSON.stringify({ Job: job, Other: 1 }))).toEqual(job);
    const { job: read, diagnostics } = parse(JSON.stringify({ Job: job }), { json: true });
    expect(diagnostics).toEqual([]);
    expect(validateJob(canonicalizeJob(read ?? {})).errors).toEqual([]);
    expect(parseJobFile(Buffer.from(JSON.stringify(job)), { filename: "a", json: true }).job).toEqual(job);
  });

  it.each([
    ["[]", "holds no job"],
    ["null", "holds no job"],
    ['{"Job":null}', "holds no job"],
    ['{"Job":[]}', "holds no job"],
    ["{", "not JSON"],
    ['{"ID":5}', "ID: must be text, got 5"],
    ['{"ID":"x","TaskGroups":[{"Count":"2"}]}', "TaskGroups[0].Count"],
  ])("is refused when it is %s", (text, message) => {
    expect(() => parseJobJson(text)).toThrow(message);
    expect(faults(text, { json: true })).toContain(message);
  });

  it("is pointed out where HCL was expected", () => {
    expect(faults('\n  {\n "Job": {}}')).toMatch(/^a\.hcl:3,2: JSON where HCL is expected: .*-json/);
    expect(parseJobFile(Buffer.from('{"a":1}'), { filename: "b" }).diagnostics[0]?.code).toBe("json-syntax");
  });
});

describe("formatDiagnostics", () => {
  it("shows place, text and the line with a mark", () => {
    expect(faults(jobText("colour = 1"))).toBe(
      [
        'a.hcl:6,4: Unknown argument: There is no argument "colour" here.',
        "  6 |    colour = 1",
        "         ^^^^^^",
      ].join("\n"),
    );
  });

  it("never lets control characters of a file reach the terminal", () => {
    const text = jobText('colour = "\u001b[31m\u202e"');
    expect(faults(text)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });

  it("cuts long lines and long lists, and lines of other files are not guessed", () => {
    const wide = jobText(`env { ${"A".repeat(500)} = [] }`);
    for (const line of faults(wide).split("\n")) expect(line.length).toBeLessThan(700);
    const many = jobText(Array.from({ length: 30 }, (_, i) => `x${i} = 1`).join("\n"));
    expect(faults(many)).toMatch(/and 20 more$/);
    const { diagnostics } = parse(jobText("", 'variable "n" {\n type = number\n}\n'), {
      cwd: dir,
      varFiles: ["v.vars"],
    });
    expect(formatDiagnostics(diagnostics, jobText(), "a.hcl")).not.toContain(" | ");
    expect(formatDiagnostics(diagnostics)).not.toContain(" | ");
  });

  it("takes bytes, and a mark at least one wide", () => {
    const text = 'job "x" {\n';
    const { diagnostics } = parseJobFile(Buffer.from(text), { filename: "a" });
    expect(formatDiagnostics(diagnostics, Buffer.from(text))).toContain("^");
  });
});
