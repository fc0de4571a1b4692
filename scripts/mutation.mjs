// node scripts/mutation.mjs <package> [--sample n] [--seed n] [--only part,…] [--fresh]: the mutation score of one package.
//
// Stryker changes one place of the sources at a time and runs the unit tests that reach it; a change that no test notices
// "survives". The score is what was noticed of all that was tried. A test file that does not load, or a hook that throws, is
// a failure like that of a test: with a mutant it notices it, without one it ends the run (scripts/mutation-runner.mjs).
// Stryker is big (some 170 packages), so it stays outside the workspace's install: pinned versions go into
// node_modules/.cache/mutation by npm on first use. The run works on a copy of the workspace in the temp folder, so sources
// may be edited meanwhile. Left out: end-to-end tests, README examples, SLOW.
// --sample n: only n mutants, always the same ones of a --seed (1 unless told). --only: sources whose path contains one of
// the parts. --fresh: forget the results kept from the last run. Report and survivors:
// node_modules/.cache/mutation/reports/<package>.{json,txt}.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const VERSION = "9.6.1"; // 10.x needs Node 22
/** Unit tests that cost more than they find (scans, child processes, other parsers) or that a busy machine fails by their time bounds. */
const SLOW = {
  "cron-schedule": [
    "test/host-zone.test.ts",
    "test/zones.prop.test.ts",
    "test/combine.prop.test.ts",
    "test/fuzz.prop.test.ts",
  ],
  hcl: ["test/differential.test.ts", "test/hostile.test.ts"],
  "plugin-driver": [
    "test/fuzz.prop.test.ts",
    // Their bench gives descriptors to sockets, which Node takes ill in the worker threads that Stryker uses.
    "test/defined-driver.conformance.test.ts",
    "test/conformance-mutants.test.ts",
  ],
};
/** Sources whose tests are among the slow ones: nothing here could notice their mutants. */
const UNSEEN = {
  // The conformance suite, which test/conformance-mutants.test.ts judges by faulty drivers.
  "plugin-driver": ["src/testing/"],
};
/** Mutants tried where the whole would take hours; the figure then says "of n sampled mutants". */
export const SAMPLE = {
  "stats-hook": 300,
  "cron-schedule": 300,
  hcl: 300,
  "plugin-driver": 300,
  "nomad-structs": 300,
  "allocdir-interface": 300,
};

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(root, "node_modules/.cache/mutation");
const tool = join(cache, "tool");

function install() {
  const found = join(tool, "node_modules/@stryker-mutator/core/package.json");
  if (existsSync(found) && JSON.parse(readFileSync(found, "utf8")).version === VERSION) return;
  rmSync(tool, { recursive: true, force: true });
  mkdirSync(tool, { recursive: true });
  writeFileSync(join(tool, "package.json"), '{ "name": "mutation-tool", "private": true }\n');
  // The peer vitest is the workspace's own: resolution climbs from the cache to the root's node_modules.
  const wanted = ["core", "vitest-runner"].map((name) => `@stryker-mutator/${name}@${VERSION}`);
  const args = [
    "install",
    "--save-exact",
    "--legacy-peer-deps",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    ...wanted,
  ];
  if (spawnSync("npm", args, { cwd: tool, stdio: "inherit" }).status !== 0)
    throw new Error(`npm could not install Stryker ${VERSION}`);
}

/** A copy of the workspace without builds; links into the root's node_modules and among the packages stay links. */
export function copyWorkspace() {
  const room = mkdtempSync(join(tmpdir(), "outrider-mutation-"));
  const skipped = new Set(["dist", "coverage", ".turbo", ".bin", ".vite", ".vite-temp", "temp", "reports"]);
  const filter = (from) =>
    !from
      .slice(root.length)
      .split(sep)
      .some((part) => skipped.has(part));
  for (const name of ["packages", "tooling"]) {
    cpSync(join(root, name), join(room, name), { recursive: true, verbatimSymlinks: true, filter });
  }
  for (const name of ["package.json", "tsconfig.base.json", "tsconfig.json"])
    cpSync(join(root, name), join(room, name));
  symlinkSync(join(root, "node_modules"), join(room, "node_modules"), "dir");
  return room;
}

function sourcesOf(folder, only, unseen = []) {
  const all = readdirSync(join(folder, "src"), { recursive: true }).map((file) => `src/${file.split(sep).join("/")}`);
  const real = all
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts") && !file.includes("/gen/"))
    .filter((file) => !unseen.some((part) => file.startsWith(part)))
    .sort();
  return only.length === 0 ? real : real.filter((file) => only.some((part) => file.includes(part)));
}

async function countMutants(folder, files) {
  const { Instrumenter } = await import(
    pathToFileURL(join(tool, "node_modules/@stryker-mutator/instrumenter/dist/src/index.js")).href
  );
  const silent = { debug() {}, info() {}, warn() {}, isDebugEnabled: () => false };
  const inputs = files.map((name) => ({
    name: join(folder, name),
    mutate: true,
    content: readFileSync(join(folder, name), "utf8"),
  }));
  const { mutants } = await new Instrumenter(silent).instrument(inputs, {
    plugins: null,
    excludedMutations: [],
    ignorers: [],
  });
  return mutants.filter((mutant) => mutant.status !== "Ignored").length;
}

/** Killed, survived, … per state, and one block of text for every survivor. */
function readReport(file) {
  const { files } = JSON.parse(readFileSync(file, "utf8"));
  const count = { Killed: 0, Timeout: 0, Survived: 0, NoCoverage: 0, RuntimeError: 0, Ignored: 0 };
  const survivors = [];
  for (const [name, { source, mutants }] of Object.entries(files)) {
    const lines = source.split("\n");
    for (const { status, mutatorName, replacement, location } of mutants) {
      if (status in count) count[status]++;
      if (status !== "Survived" && status !== "NoCoverage") continue;
      const { start, end } = location;
      const last = start.line === end.line ? end.column - 1 : undefined;
      const old = lines[start.line - 1].slice(start.column - 1, last);
      survivors.push(
        `${name}:${start.line}:${start.column} ${status} ${mutatorName}\n  - ${old}\n  + ${replacement.split("\n").join(" ").slice(0, 160)}`,
      );
    }
  }
  const noticed = count.Killed + count.Timeout;
  const tried = noticed + count.Survived + count.NoCoverage;
  return { count, tried, score: tried === 0 ? 0 : (100 * noticed) / tried, survivors };
}

/** Runs Stryker on packages/<name>; throws when it cannot. */
export async function mutate(name, { sample, seed = 1, only = [], fresh = false } = {}) {
  if (!existsSync(join(root, "packages", name, "src"))) throw new Error(`there is no package "${name}"`);
  install();
  const room = copyWorkspace();
  try {
    const folder = join(room, "packages", name);
    const files = sourcesOf(folder, only, UNSEEN[name]);
    if (files.length === 0) throw new Error(`no source of ${name} to be measured is named like ${only.join(", ")}`);
    const total = await countMutants(folder, files);
    const part = sample === undefined ? 1 : Math.min(1, sample / total);
    const variant = [name, ...only, ...(part < 1 ? [`sample${sample}`, ...(seed === 1 ? [] : [`seed${seed}`])] : [])]
      .join("-")
      .replaceAll("/", "_");
    const report = join(cache, "reports", `${variant}.json`);
    const incrementalFile = join(cache, "incremental", `${variant}.json`);
    for (const dir of ["reports", "incremental"]) mkdirSync(join(cache, dir), { recursive: true });
    const exclude = ["**/node_modules/**", "test/**/*.e2e.test.ts", "test/readme.test.ts", ...(SLOW[name] ?? [])];
    writeFileSync(
      join(folder, "vitest.mutation.config.js"),
      `import { project } from "@outrider/build-config/vitest";\nexport default project(${JSON.stringify(name)}, ${JSON.stringify({ exclude, testTimeout: name in SLOW ? 120_000 : 20_000 })});\n`,
    );
    const config = {
      testRunner: "vitest-files",
      plugins: [
        join(tool, "node_modules/@stryker-mutator/vitest-runner/dist/src/index.js"),
        join(root, "scripts/mutation-runner.mjs"),
        join(root, "scripts/mutation-sample.mjs"),
      ],
      vitest: { configFile: "vitest.mutation.config.js", related: false },
      checkers: ["sample"],
      mutate: files,
      inPlace: true,
      disableTypeChecks: false,
      allowConsoleColors: false,
      coverageAnalysis: "perTest",
      concurrency: 1,
      timeoutMS: 10_000,
      dryRunTimeoutMinutes: 15,
      reporters: ["json", ...(process.stderr.isTTY ? ["progress"] : [])],
      jsonReporter: { fileName: report },
      incremental: true,
      incrementalFile,
      force: fresh,
    };
    writeFileSync(join(folder, "stryker.conf.json"), JSON.stringify(config));
    const bin = join(tool, "node_modules/@stryker-mutator/core/bin/stryker.js");
    const env = { ...process.env, OUTRIDER_MUTATION_PART: String(part), OUTRIDER_MUTATION_SEED: String(seed) };
    const done = spawnSync(process.execPath, [bin, "run", "stryker.conf.json"], { cwd: folder, stdio: "inherit", env });
    if (done.status !== 0) throw new Error(`Stryker ended with ${done.status ?? done.signal} on ${name}`);
    const result = { name, total, sampled: part < 1, ...readReport(report) };
    writeFileSync(report.replace(/json$/, "txt"), `${result.survivors.join("\n")}\n`);
    return result;
  } finally {
    rmSync(room, { recursive: true, force: true });
  }
}

/** The sentence for README and summary. */
export const figure = ({ score, sampled, tried, total }) =>
  `${(Math.floor(score * 10) / 10).toFixed(1)} % of ${sampled ? `${tried} sampled mutants (of ${total})` : `${tried} mutants`}`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name, ...rest] = process.argv.slice(2);
  const valueOf = (flag) => (rest.includes(flag) ? rest[rest.indexOf(flag) + 1] : undefined);
  if (name === undefined)
    throw new Error("usage: node scripts/mutation.mjs <package> [--sample n] [--seed n] [--only part,…] [--fresh]");
  const sample = Number(valueOf("--sample") ?? SAMPLE[name] ?? Infinity);
  const result = await mutate(name, {
    sample: Number.isFinite(sample) ? sample : undefined,
    seed: Number(valueOf("--seed") ?? 1),
    only: valueOf("--only")?.split(",") ?? [],
    fresh: rest.includes("--fresh"),
  });
  console.log(result.survivors.join("\n"));
  console.log(`${name}: ${figure(result)}  ${JSON.stringify(result.count)}`);
  process.exitCode = result.score >= 80 ? 0 : 1;
}
