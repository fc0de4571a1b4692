import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { AllocDirError } from "@outrider/allocdir-interface";
import type { TaskPlace } from "../task-place.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Reads a file below a folder whose tree a task controls: no component is followed if it is a link. Undefined when there is none. Rejects for
 * anything but a plain file, and for one that is larger than `maxBytes`.
 */
export async function readBelow(place: TaskPlace, maxBytes: number): Promise<string | undefined> {
  const names = place.path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.length === 0 || names.includes(".."))
    throw new AllocDirError(
      "PATH_ESCAPES",
      `Path escapes the alloc directory: ${JSON.stringify(place.path)}`,
      place.path,
    );
  const opened: FileHandle[] = [];
  try {
    let at = await open(place.root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    opened.push(at);
    for (const [i, name] of names.entries()) {
      const flags = i === names.length - 1 ? O_NONBLOCK : O_DIRECTORY;
      at = await open(`/proc/self/fd/${at.fd}/${name}`, O_RDONLY | O_NOFOLLOW | flags);
      opened.push(at);
    }
    const stats = await at.stat();
    if (!stats.isFile()) throw new Error(`${JSON.stringify(place.path)} is not a plain file`);
    if (stats.size > maxBytes) throw new Error(`${JSON.stringify(place.path)} is larger than ${maxBytes} bytes`);
    return await at.readFile("utf8");
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw reason;
  } finally {
    await Promise.all(opened.map((handle) => handle.close()));
  }
}
