// Runs the pinned pnpm: the local copy, else the same version on PATH, else through npm exec.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const pin = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).packageManager.split("@")[1];

export function pnpm(args, options = {}) {
  const local = join(root, "node_modules/pnpm/bin/pnpm.cjs");
  let command = "npm";
  let head = ["exec", "--yes", `--package=pnpm@${pin}`, "--", "pnpm"];
  if (
    existsSync(local) &&
    JSON.parse(readFileSync(join(root, "node_modules/pnpm/package.json"), "utf8")).version === pin
  ) {
    command = process.execPath;
    head = [local];
  } else if (spawnSync("pnpm", ["--version"], { encoding: "utf8" }).stdout?.trim() === pin) {
    command = "pnpm";
    head = [];
  }
  return spawnSync(command, [...head, ...args], { cwd: root, stdio: "inherit", ...options });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(pnpm(process.argv.slice(2)).status ?? 1);
