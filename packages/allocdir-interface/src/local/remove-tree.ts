import { constants } from "node:fs";
import { chmod, open, readdir, rmdir, unlink, type FileHandle } from "node:fs/promises";
import { AllocDirError } from "../alloc-dir-error.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** A descriptor that only marks a place. */
const O_PATH = 0o10000000;

/** Opens a directory to be emptied; one that its owner closed to himself is opened up first. */
async function openDir(path: string): Promise<FileHandle> {
  const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  const mark = await open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  try {
    if ((Number((await mark.stat()).mode) & 0o700) !== 0o700) await chmod(`/proc/self/fd/${mark.fd}`, 0o700);
    return await open(`/proc/self/fd/${mark.fd}/.`, flags);
  } finally {
    await mark.close();
  }
}

/** Rounds over one folder: two for races, one that finds it empty. */
const ROUNDS = 3;

const codeOf = (reason: unknown): string => (reason as NodeJS.ErrnoException).code ?? "";

function unlessGone(reason: unknown): void {
  if (codeOf(reason) !== "ENOENT") throw reason;
}

/**
 * Deletes a directory and all below it. Anchored in descriptors: a process that still lives in the tree cannot turn it
 * elsewhere by links. Never leaves the file system it starts on.
 */
export async function removeTree(path: string, shown: string): Promise<void> {
  let root: FileHandle;
  try {
    root = await openDir(path);
  } catch (reason) {
    return unlessGone(reason);
  }
  try {
    const { dev } = await root.stat({ bigint: true });
    await empty(root, dev, shown);
  } finally {
    await root.close();
  }
  await rmdir(path).catch(unlessGone);
}

async function empty(dir: FileHandle, device: bigint, shown: string): Promise<void> {
  const base = `/proc/self/fd/${dir.fd}`;
  // What changed its kind, or was made, during one round is dealt with in the next.
  for (let round = 0; round < ROUNDS; round++) {
    const names = await readdir(base);
    if (names.length === 0) return;
    for (const name of names) await remove(`${base}/${name}`, name, device, shown);
  }
}

async function remove(path: string, name: string, device: bigint, shown: string): Promise<void> {
  const failed = await unlink(path).then(() => undefined, codeOf);
  if (failed === undefined || failed === "ENOENT") return;
  if (failed !== "EISDIR" && failed !== "EPERM")
    throw new AllocDirError("IO", `${JSON.stringify(shown)}: cannot delete ${JSON.stringify(name)}: ${failed}`, shown);
  let inner: FileHandle;
  try {
    inner = await openDir(path);
  } catch (reason) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(reason))) return;
    throw reason;
  }
  try {
    if ((await inner.stat({ bigint: true })).dev !== device) {
      throw new AllocDirError(
        "BUSY",
        `${JSON.stringify(shown)}: ${JSON.stringify(name)} is on another file system`,
        shown,
      );
    }
    await empty(inner, device, shown);
  } finally {
    await inner.close();
  }
  await rmdir(path).catch(unlessGone);
}
