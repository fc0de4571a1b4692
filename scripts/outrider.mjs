// npm run outrider -- <command>: the built client, built first if need be.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const main = `${root}apps/client/dist/main.js`;
if (!existsSync(main)) {
  const built = spawnSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (built.status !== 0) process.exit(1);
}
const done = spawnSync(process.execPath, [main, ...process.argv.slice(2)], {
  cwd: process.env.INIT_CWD ?? process.cwd(),
  stdio: "inherit",
});
process.exit(done.status ?? 1);
