import { rmdir } from "node:fs/promises";
import { systemError } from "../alloc-dir-error.ts";
import { makeDir } from "./make-dir.ts";

/** As {@link makeDir}, remembering what was not there before. */
export type Make = (...args: Parameters<typeof makeDir>) => void;

/**
 * Runs work that makes directories. When it fails, those that were not there before are taken away again, the newest first: no half of a
 * tree stays on a full or read-only disk. `release` lets go of what holds a directory, such as a mount.
 */
export async function madeOrNothing(
  shown: string,
  work: (make: Make) => Promise<void>,
  release: (path: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const made: string[] = [];
  try {
    await work((...args) => {
      if (makeDir(...args)) made.push(args[0]);
    });
  } catch (reason) {
    // The failure that led here is what the caller hears of.
    for (const path of made.reverse())
      await release(path)
        .then(() => rmdir(path))
        .catch(() => undefined);
    throw systemError(reason, shown);
  }
}
