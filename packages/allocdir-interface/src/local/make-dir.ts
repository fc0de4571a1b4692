import { closeSync, constants, fchmodSync, fchownSync, mkdirSync, openSync } from "node:fs";
import { AllocDirError } from "../alloc-dir-error.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Makes one directory and gives it mode and owner whatever the umask is; an existing one keeps its content. Never acts through a link.
 *
 * Five calls of some microseconds each on a local disk: done at once, since the way through the thread pool costs ten times
 * as much, and a start of a task needs a dozen directories.
 */
export function makeDir(
  path: string,
  mode: number,
  owner: { readonly uid: number; readonly gid: number } | undefined,
  shown: string,
): void {
  try {
    mkdirSync(path, { mode });
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code !== "EEXIST") throw reason;
  }
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (cause) {
    throw new AllocDirError("NOT_DIRECTORY", `${JSON.stringify(shown)} exists and is not a directory`, shown, {
      cause,
    });
  }
  try {
    fchmodSync(fd, mode);
    if (owner !== undefined) fchownSync(fd, owner.uid, owner.gid);
  } finally {
    closeSync(fd);
  }
}
