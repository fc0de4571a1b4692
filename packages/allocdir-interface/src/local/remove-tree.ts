import { constants } from "node:fs";
import { chmod, open, readdir, rmdir, unlink, type FileHandle } from "node:fs/promises";
import { AllocDirError } from "../alloc-dir-error.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** A descriptor that only marks a place. */
const O_PATH = 0o10000000;

/** Rounds over one folder: what changed its kind, or was made, during one round is dealt with in the next. */
const ROUNDS = 3;

const codeOf = (reason: unknown): string => (reason as NodeJS.ErrnoException).code ?? "";

function unlessGone(reason: unknown): void {
  if (codeOf(reason) !== "ENOENT") throw reason;
}

/** An open folder that may be emptied. */
interface OpenDir {
  readonly handle: FileHandle;
  readonly device: bigint;
}

/** Opens a directory to be emptied; one that its owner closed to himself is opened up. */
async function openDir(path: string): Promise<OpenDir> {
  const handle = await openHandle(path);
  try {
    const { mode, dev } = await handle.stat({ bigint: true });
    if ((Number(mode) & 0o700) !== 0o700) await handle.chmod(0o700);
    return { handle, device: dev };
  } catch (reason) {
    await handle.close();
    throw reason;
  }
}

async function openHandle(path: string): Promise<FileHandle> {
  const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  try {
    return await open(path, flags);
  } catch (reason) {
    if (codeOf(reason) !== "EACCES") throw reason;
  }
  const mark = await open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  try {
    await chmod(`/proc/self/fd/${mark.fd}`, 0o700);
    return await open(`/proc/self/fd/${mark.fd}/.`, flags);
  } finally {
    await mark.close();
  }
}

/**
 * Deletes a directory and all below it. Anchored in descriptors: a process that still lives in the tree cannot turn it
 * elsewhere by links. Never leaves the file system it starts on.
 */
export async function removeTree(path: string, shown: string): Promise<void> {
  let root: OpenDir;
  try {
    root = await openDir(path);
  } catch (reason) {
    return unlessGone(reason);
  }
  try {
    await emptyAndRemove(path, root, shown);
  } finally {
    await root.handle.close();
  }
}

/** `path` is the name of the open folder. */
async function emptyAndRemove(path: string, dir: OpenDir, shown: string): Promise<void> {
  const base = `/proc/self/fd/${dir.handle.fd}`;
  for (let round = 1; ; round++) {
    for (const name of await readdir(base)) await remove(`${base}/${name}`, name, dir.device, shown);
    try {
      return await rmdir(path).catch(unlessGone);
    } catch (reason) {
      if (round === ROUNDS || codeOf(reason) !== "ENOTEMPTY") throw reason;
    }
  }
}

async function remove(path: string, name: string, device: bigint, shown: string): Promise<void> {
  // Most folders of an allocation are empty: one call instead of eight.
  const kept = await rmdir(path).then(() => undefined, codeOf);
  if (kept === undefined || kept === "ENOENT") return;
  if (kept === "ENOTDIR" || kept === "ELOOP") {
    const failed = await unlink(path).then(() => undefined, codeOf);
    if (failed === undefined || failed === "ENOENT") return;
    if (failed !== "EISDIR" && failed !== "EPERM")
      throw new AllocDirError(
        "IO",
        `${JSON.stringify(shown)}: cannot delete ${JSON.stringify(name)}: ${failed}`,
        shown,
      );
  }
  let inner: OpenDir;
  try {
    inner = await openDir(path);
  } catch (reason) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(reason))) return;
    throw reason;
  }
  try {
    // A mount of the same file system stands for another folder, which is not ours to empty.
    if (inner.device !== device || kept === "EBUSY") {
      throw new AllocDirError(
        "BUSY",
        `${JSON.stringify(shown)}: ${JSON.stringify(name)} is on another file system`,
        shown,
      );
    }
    await emptyAndRemove(path, inner, shown);
  } finally {
    await inner.handle.close();
  }
}
