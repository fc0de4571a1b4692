// node scripts/nightly.mjs [part of a step's name …]: what takes too long for `npm test`, one step after the other, with a
// summary at the end. The scripts of packages named *nightly* or *differential* (every time zone since 1972; the HCL parser
// against the official one), the suite of cron-schedule on hosts of six zones, known faults that the tests must notice, and the
// mutation score of every package. Exit code 1 when a step fails or a score is below 80 %.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { figure, mutate, SAMPLE } from "./mutation.mjs";

const GOAL = 80;
const HOST_ZONES = [
  "UTC",
  "Australia/Sydney",
  "America/New_York",
  "America/Sao_Paulo",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
];
const root = fileURLToPath(new URL("..", import.meta.url));
const wanted = process.argv.slice(2);
const packages = readdirSync(join(root, "packages")).filter((name) => existsSync(join(root, "packages", name, "src")));

function runScript(file) {
  const args = ["--import", "tsx", "--conditions=@outrider/source", file];
  const done = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 1 << 28,
  });
  process.stdout.write(done.stdout);
  const last = done.stdout.trim().split("\n").at(-1) ?? "";
  return { ok: done.status === 0, said: done.status === 0 ? last : `exit ${done.status ?? done.signal}: ${last}` };
}

/** The whole suite of cron-schedule on a host of that zone: the answers must not depend on it. */
function runSuiteIn(zone) {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const done = spawnSync(process.execPath, [vitest, "run", "--project", "cron-schedule"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    env: { ...process.env, TZ: zone },
  });
  if (done.status !== 0) process.stdout.write(done.stdout);
  return { ok: done.status === 0, said: done.stdout.trim().split("\n").at(-1) ?? "" };
}

async function runMutation(name) {
  const result = await mutate(name, { sample: SAMPLE[name] });
  return { ok: result.score >= GOAL, said: figure(result) };
}

const scripts = packages.flatMap((name) => {
  const folder = join(root, "packages", name, "scripts");
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder)
    .filter((file) => /nightly|differential/.test(file))
    .sort();
  return files.map((file) => ({ name: `${name}/${file}`, run: () => runScript(join(folder, file)) }));
});
const steps = [
  ...scripts,
  ...HOST_ZONES.map((zone) => ({ name: `cron-schedule in TZ=${zone}`, run: () => runSuiteIn(zone) })),
  { name: "known faults", run: () => runScript(join(root, "scripts/known-faults.mjs")) },
  ...packages.map((name) => ({ name: `mutation ${name}`, run: () => runMutation(name) })),
].filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
if (steps.length === 0) throw new Error(`no step is named like ${wanted.join(", ")}`);

const rows = [];
for (const { name, run } of steps) {
  console.log(`\n== ${name}`);
  const start = process.hrtime.bigint();
  let result;
  try {
    result = await run();
  } catch (error) {
    result = { ok: false, said: error instanceof Error ? error.message : String(error) };
  }
  const seconds = Number((process.hrtime.bigint() - start) / 1_000_000_000n);
  rows.push({ name, seconds, ...result });
}
console.log("\n| step | result | took | |\n|---|---|---:|---|");
for (const { name, ok, seconds, said } of rows)
  console.log(`| ${name} | ${ok ? "ok" : "FAILED"} | ${seconds} s | ${said.replaceAll("|", "\\|")} |`);
process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;
