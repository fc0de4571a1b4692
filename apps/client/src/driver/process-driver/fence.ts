/** Finding out whether a start that a killed driver left behind may still happen, and making sure that it does not. */
import { type Clock, sleep } from "@outrider/backoff";
import { readdirSync, readFileSync } from "node:fs";
import { unlinkQuietly } from "./files.ts";

/** How long a shim gets to announce itself. */
export const FENCE_MS = 1_500;
const STEP_MS = 50;

/** How long a process that names the spec is waited for: it has opened the spec and will announce itself, or it is stuck. */
const NAMED_LIMIT_MS = 5_000;

/**
 * Resolves to true when the shim did begin. Otherwise its spec is gone, so that it can run nothing any more.
 */
export async function fence(specPath: string, hasBegun: () => boolean, clock: Clock): Promise<boolean> {
  for (let waited = 0; waited < FENCE_MS; waited += STEP_MS) {
    if (hasBegun()) return true;
    await sleep(STEP_MS, { clock });
  }
  if (await beginsWhileNamed(specPath, hasBegun, clock)) return true;
  unlinkQuietly(specPath);
  // one that opened it just before runs on
  return beginsWhileNamed(specPath, hasBegun, clock);
}

async function beginsWhileNamed(specPath: string, hasBegun: () => boolean, clock: Clock): Promise<boolean> {
  for (let waited = 0; waited < NAMED_LIMIT_MS && isNamedBySomeone(specPath); waited += STEP_MS) {
    if (hasBegun()) return true;
    await sleep(STEP_MS, { clock });
  }
  return hasBegun();
}

/** Whether a process has the path among its arguments. */
function isNamedBySomeone(path: string): boolean {
  const needle = Buffer.from(`\0${path}\0`);
  for (const name of readdirSync("/proc")) {
    if (!/^[1-9][0-9]*$/.test(name)) continue;
    try {
      if (readFileSync(`/proc/${name}/cmdline`).includes(needle)) return true;
    } catch {
      // gone
    }
  }
  return false;
}
