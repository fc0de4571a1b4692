import { closeSync, constants, fchmodSync, fchownSync, mkdirSync, openSync, rmdirSync } from "node:fs";
import { AllocDirError } from "../alloc-dir-error.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Makes one directory and gives it mode and owner whatever the umask is; an existing one keeps its content. Never acts through a link.
 * Gives whether it was not there before.
 *
 * All at once: it takes some ten microseconds, less than the way through the thread pool, and nobody sees it half done.
 */
export function makeDir(
  path: string,
  mode: number,
  owner: { readonly uid: number; readonly gid: number } | undefined,
  shown: string,
): boolean {
  let made = true;
  try {
    mkdirSync(path, { mode });
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code !== "EEXIST") throw reason;
    made = false;
  }
  try {
    setDir(path, mode, owner, shown);
  } catch (reason) {
    if (made) removeQuietly(path);
    throw reason;
  }
  return made;
}

function removeQuietly(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // the failure that led here is what the caller hears of
  }
}

/** Gives an existing directory mode and owner. */
export function setDir(
  path: string,
  mode: number,
  owner: { readonly uid: number; readonly gid: number } | undefined,
  shown: string,
): void {
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
