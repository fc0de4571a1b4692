import { randomBytes } from "node:crypto";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { STAGING_PREFIX } from "../migrate/staging.ts";
import { removeTree } from "./remove-tree.ts";

/** Name of a tree that is being deleted; swept at the next start if the process dies meanwhile. */
const DESTROY_PREFIX = ".destroy-";

/**
 * Gives a tree that is to be deleted another name, so that one half deleted is never taken for a live one. Resolves with its new path, or with
 * undefined when there is none.
 */
export async function doomTree(root: string, name: string): Promise<string | undefined> {
  const doomed = join(root, `${DESTROY_PREFIX}${name}-${randomBytes(4).toString("hex")}`);
  try {
    await rename(join(root, name), doomed);
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw reason;
  }
  return doomed;
}

/** Deletes trees whose deletion, and disks whose move, was interrupted. Call once at start, before any allocation is restored. @public */
export async function sweepDestroyed(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    if (name.startsWith(DESTROY_PREFIX) || name.startsWith(STAGING_PREFIX)) await removeTree(join(root, name), name);
  }
}
