// npm run release:dry: versions the workspace in a scratch copy, builds it and runs the packed smoke test; publishes nothing.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const copy = join(mkdtempSync(join(tmpdir(), "outrider-release-")), "outrider");
const run = (command, cwd = copy) => {
  console.log(`— ${command}`);
  const done = spawnSync("bash", ["-c", command], {
    cwd,
    stdio: "inherit",
    env: { ...process.env, PATH: `${copy}/node_modules/.bin:${process.env.PATH}` },
  });
  // Thrown, not exited with: the copy must go.
  if (done.status !== 0) throw new Error(`"${command}" ended with ${done.status ?? done.signal}`);
};
try {
  run(`git clone -q --local "${root}" "${copy}"`, root);
  run("node scripts/ensure-deps.mjs");
  run("changeset version");
  run("node scripts/pnpm.mjs install --no-frozen-lockfile --offline --loglevel=warn");
  run("turbo run build");
  run("node scripts/smoke-packed.mjs");
  run("node scripts/pnpm.mjs -r publish --dry-run --no-git-checks");
} catch (error) {
  console.error(`release:dry: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(join(copy, ".."), { recursive: true, force: true });
}
