/** Small synchronous file helpers of the driver process. */
import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";

/** The `code` of a system error, or "". */
export function errnoOf(reason: unknown): string {
  const code = (reason as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/**
 * Writes a file beside its final name and renames it: a reader sees the old or the new text, never half of one.
 *
 * Nothing here is synced to the disk. These files describe processes of this boot; a kill of this process loses nothing of them, and after a
 * power failure there is no process left. Results that were told are in the agent's journal by then. Syncing would hold the event loop for
 * 20 ms a task and more.
 */
export function writeFileAtomic(path: string, text: string, mode: number): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  const fd = openSync(temporary, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, mode);
  try {
    writeAll(fd, Buffer.from(text));
  } catch (reason) {
    unlinkQuietly(temporary);
    throw reason;
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
}

/** Writes every byte, at the file's own offset or at `position`. */
export function writeAll(fd: number, bytes: Uint8Array, position?: number): void {
  let done = 0;
  while (done < bytes.length) {
    done += writeSync(fd, bytes, done, bytes.length - done, position === undefined ? null : position + done);
  }
}

/** Removes a file if it is there. */
export function unlinkQuietly(path: string): void {
  // asking first is much cheaper than an exception
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  try {
    unlinkSync(path);
  } catch (reason) {
    if (errnoOf(reason) !== "ENOENT") throw reason;
  }
}

/** Names in a folder; none when it does not exist. */
export function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (reason) {
    if (errnoOf(reason) === "ENOENT") return [];
    throw reason;
  }
}

/** The text of a file; nothing when it cannot be read. */
export function readTextOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
