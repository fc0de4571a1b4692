// node scripts/known-faults.mjs [part of a row or package …]: puts known faults of other software into a copy of the packages,
// one at a time, and checks that the named test notices each. The list is test/known-faults.json; a test of the repository
// checks that its texts are still in the sources. `--update` writes the table of docs/testing.md instead of running anything.
import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { copyWorkspace } from "./mutation.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
/** A fault that hangs the program is noticed by this, as it would be by whoever waits for the test run. */
const LIMIT_MS = 60_000;
const args = process.argv.slice(2);
const all = JSON.parse(readFileSync(join(root, "test/known-faults.json"), "utf8"));

if (args[0] === "--update") {
  const page = join(root, "docs/testing.md");
  const [head, tail] = ["<!-- faults:start -->", "<!-- faults:end -->"];
  const text = readFileSync(page, "utf8");
  const rows = all.map((f) => `| ${f.fault} | ${f.seen} | ${f.package} | \`${f.test}\`: ${f.title} |`);
  const table = ["| fault | seen in | package | noticed by |", "|---|---|---|---|", ...rows].join("\n");
  writeFileSync(
    page,
    `${text.slice(0, text.indexOf(head) + head.length)}\n${table}\n${text.slice(text.indexOf(tail))}`,
  );
  process.exit();
}

/** Runs the tests of that title; gives the counts, or undefined when they did not end. */
function runTests(folder, { test, title }) {
  const report = join(folder, "known-faults-report.json");
  rmSync(report, { force: true });
  const pattern = title.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const child = spawn(
    process.execPath,
    [vitest, "run", test, "-t", pattern, "--reporter=json", `--outputFile=${report}`],
    // A group of its own, since a hanging worker outlives its parent.
    { cwd: folder, stdio: "ignore", detached: true },
  );
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, "SIGKILL"), LIMIT_MS);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (signal !== null) return resolve(undefined);
      const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
      resolve({ passed: numPassedTests, failed: numFailedTests });
    });
  });
}

const wanted = all.filter(
  (f) => args.length === 0 || args.some((part) => f.row.includes(part) || f.package.includes(part)),
);
if (wanted.length === 0) throw new Error(`no fault is named like ${args.join(", ")}`);
const room = copyWorkspace();
const sound = new Map();
let missed = 0;
try {
  for (const fault of wanted) {
    const folder = join(room, "packages", fault.package);
    const file = join(folder, fault.file);
    const source = readFileSync(file, "utf8");
    // Without the fault the test must pass, or its failure would say nothing.
    const key = `${fault.package} ${fault.test} ${fault.title}`;
    if (!sound.has(key)) sound.set(key, await runTests(folder, fault));
    const before = sound.get(key);
    writeFileSync(
      file,
      source.replace(fault.old, () => fault.new),
    );
    const after = await runTests(folder, fault);
    writeFileSync(file, source);
    const fine = before !== undefined && before.failed === 0 && before.passed > 0;
    const noticed = fine && (after === undefined || after.failed > 0);
    if (!noticed) missed++;
    const how = after === undefined ? `did not end in ${LIMIT_MS / 1000} s` : `${after.failed} failed`;
    console.log(
      `${noticed ? "noticed" : "MISSED "} ${fault.row} ${fault.package}: ${fault.fault} (${fine ? how : "the test does not pass without it"})`,
    );
  }
} finally {
  rmSync(room, { recursive: true, force: true });
}
console.log(`${wanted.length - missed} of ${wanted.length} faults noticed`);
process.exitCode = missed === 0 ? 0 : 1;
