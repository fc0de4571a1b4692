import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";

const FILES: Record<string, string> = {
  "loads-not.test.js": `throw new Error("broken import"); test("never seen", () => {});`,
  "hook.test.js": `describe("a group", () => { beforeAll(() => { throw new Error("broken hook"); }); test("t", () => {}); });`,
  "late-hook.test.js": `afterAll(() => { throw new Error("broken end"); }); test("t", () => {});`,
  "fails.test.js": `test("fails", () => { throw new Error("plain"); });`,
  "passes.test.js": `describe("a group", () => { test("passes", () => {}); test.skip("skipped", () => {}); });`,
};

/** Runs those files by vitest in a process of its own, as the mutation runs do; gives what the script makes of it. */
function judge(names: readonly string[], result: unknown): { failures: unknown[]; result: unknown } {
  const folder = mkdtempSync(join(tmpdir(), "outrider-mutation-test-"));
  try {
    for (const name of names) writeFileSync(join(folder, name), FILES[name] ?? "");
    const url = (path: string): string => JSON.stringify(pathToFileURL(resolve(path)).href);
    const script = `
      import { failuresOutsideTests, withFailuresOutsideTests } from ${url("scripts/mutation-failures.mjs")};
      import { startVitest } from "vitest/node";
      const folder = ${JSON.stringify(folder)};
      const vitest = await startVitest("test", [], { root: folder, config: false, globals: true, watch: false, reporters: [{}] });
      const files = vitest.state.getFiles();
      const failures = failuresOutsideTests(files, folder);
      const result = withFailuresOutsideTests(${JSON.stringify(result)}, files, folder);
      await vitest.close();
      console.log("JUDGED " + JSON.stringify({ failures, result }));
      process.exit(0);`;
    const args = ["--input-type=module", "--eval", script];
    // Without the variables by which a worker of vitest knows itself.
    const { PATH = "", HOME = "" } = process.env;
    const said = execFileSync(process.execPath, args, { encoding: "utf8", env: { PATH, HOME }, stdio: "pipe" });
    return JSON.parse(/^JUDGED (.*)$/m.exec(said)?.[1] ?? "") as { failures: unknown[]; result: unknown };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const passed = { status: "complete", tests: [{ id: "passes.test.js#a group passes", status: 0 }] };

it(
  "a mutation run takes a test file that does not load, and a hook that throws, for a failure",
  { timeout: 60_000 },
  () => {
    const { failures, result } = judge(Object.keys(FILES), passed);
    expect(failures).toEqual(
      expect.arrayContaining([
        { file: "loads-not.test.js", name: "loads-not.test.js", message: "broken import" },
        { file: "hook.test.js", name: "hook.test.js > a group", message: "broken hook" },
        { file: "late-hook.test.js", name: "late-hook.test.js", message: "broken end" },
      ]),
    );
    expect(failures).toHaveLength(3);
    const { status, tests } = result as {
      status: string;
      tests: { id: string; status: number; failureMessage: string }[];
    };
    expect(status).toBe("complete");
    expect(tests).toHaveLength(4);
    expect(tests).toContainEqual(
      expect.objectContaining({ id: "loads-not.test.js#", status: 1, failureMessage: "broken import" }),
    );
  },
);

it("a mutation run in which all files load stays as it was", { timeout: 60_000 }, () => {
  expect(judge(["passes.test.js", "fails.test.js"], passed)).toEqual({ failures: [], result: passed });
});

it(
  "a mutation run that ended with an error besides a file that does not load is a failed run",
  { timeout: 60_000 },
  () => {
    const { result } = judge(["loads-not.test.js"], { status: "error", errorMessage: "outside" });
    expect(result).toMatchObject({ status: "complete", tests: [{ id: "loads-not.test.js#", status: 1 }] });
  },
);
