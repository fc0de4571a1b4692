// Run in a package folder after its build: packs it, then publint and attw judge the tarball.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pnpm } from "./pnpm.mjs";

const require = createRequire(import.meta.url);
const bin = (name, key = name.split("/").pop()) => {
  const file = require.resolve(`${name}/package.json`);
  const field = JSON.parse(readFileSync(file, "utf8")).bin;
  return join(dirname(file), typeof field === "string" ? field : field[key]);
};
const run = (args) => {
  const done = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (done.status !== 0) process.exitCode = 1;
};

const out = mkdtempSync(join(tmpdir(), "outrider-pack-"));
try {
  const packed = pnpm(["pack", "--pack-destination", out], { cwd: process.cwd(), stdio: ["ignore", "ignore", "inherit"] });
  if (packed.status !== 0) process.exit(1);
  const tarball = join(out, readdirSync(out)[0]);
  run([bin("publint"), "run", tarball, "--strict"]);
  run([bin("@arethetypeswrong/cli", "attw"), tarball, "--profile", "esm-only"]);
} finally {
  rmSync(out, { recursive: true, force: true });
}
