import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { AllocDirError, systemError } from "../alloc-dir-error.ts";
import { segmentsOf } from "../safe-root.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Reads a file below a directory whose tree a task controls: no component is followed if it is a link. Undefined when there is none. Rejects
 * for anything but a plain file, and for one that is larger than `maxBytes`. @public
 */
export async function readFileBelow(
  root: string,
  path: string,
  o: { readonly maxBytes: number },
): Promise<string | undefined> {
  const names = segmentsOf(path, path);
  if (names.length === 0 || names.includes(".."))
    throw new AllocDirError("PATH_ESCAPES", `Path escapes the alloc directory: ${JSON.stringify(path)}`, path);
  const opened: FileHandle[] = [];
  try {
    let at = await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    opened.push(at);
    for (const [i, name] of names.entries()) {
      const flags = i === names.length - 1 ? O_NONBLOCK : O_DIRECTORY;
      at = await open(`/proc/self/fd/${at.fd}/${name}`, O_RDONLY | O_NOFOLLOW | flags);
      opened.push(at);
    }
    const stats = await at.stat();
    if (!stats.isFile()) throw new AllocDirError("NOT_REGULAR", `${JSON.stringify(path)} is not a plain file`, path);
    if (stats.size > o.maxBytes)
      throw new AllocDirError("TOO_LARGE", `${JSON.stringify(path)} is larger than ${o.maxBytes} bytes`, path);
    return await at.readFile("utf8");
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw systemError(reason, path);
  } finally {
    await Promise.all(opened.map((handle) => handle.close()));
  }
}
