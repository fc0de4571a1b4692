import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, rename, unlink, type FileHandle } from "node:fs/promises";
import { AllocDirError, systemError } from "../alloc-dir-error.ts";
import { segmentsOf } from "../safe-root.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/** A file being written beside its final name. @public */
export interface NewFile extends AsyncDisposable {
  readonly handle: FileHandle;
  /** Gives the file its name, replacing what had it, and closes it. */
  commit(): Promise<void>;
}

/**
 * Makes a file below a directory whose tree a task controls: no component is followed if it is a link, folders on the way
 * are made, and the file appears under its name at once and whole, or not at all (disposal without `commit`). @public
 */
export async function createFileBelow(
  root: string,
  path: string,
  o: { readonly mode: number; readonly dirMode?: number },
): Promise<NewFile> {
  const names = segmentsOf(path, path);
  const leaf = names.pop();
  if (leaf === undefined || leaf === ".." || names.includes("..")) {
    throw new AllocDirError("PATH_ESCAPES", `Path escapes the alloc directory: ${JSON.stringify(path)}`, path);
  }
  const opened: FileHandle[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(opened.splice(0).map((handle) => handle.close()));
  };
  try {
    let dir = await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    opened.push(dir);
    for (const name of names) {
      const next = `/proc/self/fd/${dir.fd}/${name}`;
      const made = await mkdir(next, { mode: 0o700 }).then(
        () => true,
        (reason: unknown) => {
          if ((reason as NodeJS.ErrnoException).code !== "EEXIST") throw reason;
          return false;
        },
      );
      dir = await open(next, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      opened.push(dir);
      if (made) await dir.chmod(o.dirMode ?? 0o777);
    }
    const parent = `/proc/self/fd/${dir.fd}`;
    const temporary = `${parent}/.${randomBytes(6).toString("hex")}.partial`;
    const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    opened.push(handle);
    await handle.chmod(o.mode);
    let placed = false;
    return {
      handle,
      commit: async () => {
        try {
          await rename(temporary, `${parent}/${leaf}`);
          placed = true;
        } catch (reason) {
          throw systemError(reason, path);
        } finally {
          if (placed) await close();
        }
      },
      [Symbol.asyncDispose]: async () => {
        if (!placed && opened.length > 0) await unlink(temporary).catch(() => undefined);
        await close();
      },
    };
  } catch (reason) {
    await close();
    throw systemError(reason, path);
  }
}
