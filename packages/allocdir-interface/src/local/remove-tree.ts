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

const gone = (reason: unknown): boolean => (reason as NodeJS.ErrnoException).code === "ENOENT";

/**
 * Deletes a directory and all below it. Anchored in descriptors: a process that still lives in the tree cannot turn it
 * elsewhere by links. Never leaves the file system it starts on.
 */
export async function removeTree(path: string, shown: string): Promise<void> {
  let root: FileHandle;
  try {
    root = await openDir(path);
  } catch (reason) {
    if (gone(reason)) return;
    throw reason;
  }
  try {
    const { dev } = await root.stat({ bigint: true });
    await empty(root, dev, shown);
  } finally {
    await root.close();
  }
  await rmdir(path).catch((reason: unknown) => {
    if (!gone(reason)) throw reason;
  });
}

async function empty(dir: FileHandle, device: bigint, shown: string): Promise<void> {
  const base = `/proc/self/fd/${dir.fd}`;
  for (const entry of await readdir(base, { withFileTypes: true })) {
    const path = `${base}/${entry.name}`;
    try {
      if (!entry.isDirectory()) {
        await unlink(path);
        continue;
      }
      const inner = await openDir(path);
      try {
        if ((await inner.stat({ bigint: true })).dev !== device)
          throw new AllocDirError(
            "BUSY",
            `${JSON.stringify(shown)}: ${JSON.stringify(entry.name)} is on another file system`,
            shown,
          );
        await empty(inner, device, shown);
      } finally {
        await inner.close();
      }
      await rmdir(path);
    } catch (reason) {
      if (gone(reason)) continue;
      // A name that changed its kind meanwhile is tried once more as what it is not.
      if (["ENOTDIR", "EISDIR", "ELOOP"].includes((reason as NodeJS.ErrnoException).code ?? "")) {
        await unlink(path);
        continue;
      }
      throw reason;
    }
  }
}
