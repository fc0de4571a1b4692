// Makes node_modules match the lockfile; does nothing when it already does.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pnpm } from "./pnpm.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Outrider needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}
const read = (path) => (existsSync(path) ? readFileSync(path, "utf8") : "");
const modules = join(root, "node_modules");
if (existsSync(modules) && !existsSync(join(modules, ".modules.yaml")))
  rmSync(modules, { recursive: true, force: true });
if (
  read(join(root, "pnpm-lock.yaml")) !== read(join(modules, ".pnpm/lock.yaml")) ||
  !existsSync(join(modules, ".bin/turbo"))
) {
  console.error("Installing the dependencies; the first time takes up to a minute …");
  const done = pnpm(["install", "--frozen-lockfile", "--reporter=append-only", "--loglevel=warn"]);
  if (done.status !== 0) process.exit(done.status ?? 1);
}
