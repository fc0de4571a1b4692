// Run in a package folder after its build: packs it, then publint and attw judge the tarball.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pnpm } from "./pnpm.mjs";

const tool = (name) => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url));
const run = (name, args) => {
  if (spawnSync(tool(name), args, { stdio: "inherit" }).status !== 0) process.exitCode = 1;
};

const out = mkdtempSync(join(tmpdir(), "outrider-pack-"));
try {
  const packed = pnpm(["pack", "--pack-destination", out], {
    cwd: process.cwd(),
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (packed.status !== 0) process.exit(1);
  const tarball = join(out, readdirSync(out)[0]);
  run("publint", ["run", tarball, "--strict"]);
  run("attw", [tarball, "--profile", "esm-only"]);
} finally {
  rmSync(out, { recursive: true, force: true });
}
