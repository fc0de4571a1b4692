/** Finding out whether a start that a killed driver left behind may still happen, and making sure that it does not. */
import { type Clock, sleep } from "@outrider/backoff";
import { readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { uptime } from "node:os";
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
  const firstSeen = noteFirstSeen(specPath);
  while (uptimeMs() - firstSeen < FENCE_MS) {
    if (hasBegun()) return true;
    await sleep(STEP_MS, { clock });
  }
  if (await beginsWhileNamed(specPath, hasBegun, clock)) return true;
  unlinkQuietly(specPath);
  // one that opened it just before runs on
  return beginsWhileNamed(specPath, hasBegun, clock);
}

/**
 * When a successor first found the start unfinished, in ms since boot: kept as the file's time, in 1970, where no real one lies. The wait then
 * goes on across drivers that are killed one after another.
 */
function noteFirstSeen(specPath: string): number {
  const now = uptimeMs();
  try {
    const noted = statSync(specPath).mtimeMs;
    if (noted > 0 && noted <= now) return noted;
    utimesSync(specPath, now / 1000, now / 1000);
  } catch {
    // no spec: nothing can start from it any more
    return Number.NEGATIVE_INFINITY;
  }
  return now;
}

function uptimeMs(): number {
  return Math.floor(uptime() * 1000);
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
