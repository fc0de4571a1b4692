// npm run check: everything that must hold before a change lands, in order, stopping at the first failure.
// The closing line adds up the tests of the unit and the end-to-end run.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const env = {
  ...process.env,
  TURBO_TELEMETRY_DISABLED: "1",
  DO_NOT_TRACK: "1",
  PATH: `${root}node_modules/.bin:${process.env.PATH}`,
};
const total = { passed: 0, failed: 0, skipped: 0 };

function run(title, command, { optional } = {}) {
  const from = process.hrtime.bigint();
  console.log(`\n— ${title}: ${command}`);
  return new Promise((resolve) => {
    const child = spawn("bash", ["-c", command], { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
    let tail = "";
    child.stdout.on("data", (chunk) => {
      process.stdout.write(chunk);
      tail = (tail + chunk).slice(-4000);
    });
    child.on("close", (code) => {
      const counted = [...tail.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)].pop();
      if (counted) {
        total.passed += Number(counted[1]);
        total.failed += Number(counted[2]);
        total.skipped += Number(counted[3] ?? 0);
      }
      console.log(
        `— ${title}: ${code === 0 ? "ok" : `failed (${code})`} in ${Math.round(Number(process.hrtime.bigint() - from) / 1e8) / 10} s`,
      );
      if (code !== 0 && !optional) finish(1);
      resolve(code);
    });
  });
}

function finish(code) {
  if (code !== 0 && total.failed === 0) total.failed = 1;
  console.log(`\n${total.passed} passed, ${total.failed} failed${total.skipped ? `, ${total.skipped} skipped` : ""}`);
  process.exit(code);
}

const only = process.argv.slice(2);
const steps = [
  ["format", "oxfmt --check"],
  ["lint", "oxlint --type-aware"],
  ["layers", "turbo boundaries && depcruise --config .dependency-cruiser.cjs packages apps"],
  ["unused", "knip"],
  ["types", "tsc -p ."],
  ["build", "turbo run build"],
  ["test", "npm test --silent"],
  ["e2e", "vitest run --config vitest.e2e.config.js"],
  ["pack", "turbo run pack:check && node scripts/smoke-packed.mjs"],
  ["api", "turbo run api"],
  ["size", "size-limit"],
];
for (const [title, command] of steps) if (only.length === 0 || only.includes(title)) await run(title, command);
if (only.length === 0) {
  if (existsSync(`${root}.git`))
    await run("changesets", "changeset status || echo 'changeset status: skipped, no local base branch'", {
      optional: true,
    });
  else console.log("changesets: skipped, not a git checkout");
}
finish(0);
