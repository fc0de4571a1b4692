import { closeSync, constants, fchmodSync, fchownSync, openSync } from "node:fs";
import { mkdir, rmdir } from "node:fs/promises";
import { AllocDirError } from "../alloc-dir-error.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Makes one directory and gives it mode and owner whatever the umask is; an existing one keeps its content. Never acts through a link.
 * Gives whether it was not there before.
 *
 * Only what writes to the disk goes through the thread pool; the rest takes some microseconds, less than the way there.
 */
export async function makeDir(
  path: string,
  mode: number,
  owner: { readonly uid: number; readonly gid: number } | undefined,
  shown: string,
): Promise<boolean> {
  let made = true;
  try {
    await mkdir(path, { mode });
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code !== "EEXIST") throw reason;
    made = false;
  }
  try {
    setDir(path, mode, owner, shown);
  } catch (reason) {
    if (made) await rmdir(path).catch(() => undefined);
    throw reason;
  }
  return made;
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
