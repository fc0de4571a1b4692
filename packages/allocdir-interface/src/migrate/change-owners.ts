import { constants } from "node:fs";
import { lchown, open, readdir, type FileHandle } from "node:fs/promises";
import { systemError } from "../alloc-dir-error.ts";
import type { UserRef } from "../types.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const O_PATH = 0o10000000;

/**
 * Gives what one user has below a directory to another one; the group likewise. Nothing is followed, and what belongs to others is left
 * alone. A move is over before the new task begins, so that nobody exchanges names meanwhile; if somebody does, only his own files change hands.
 */
export async function changeOwners(
  path: string,
  from: UserRef,
  to: UserRef,
  o: { readonly signal?: AbortSignal },
): Promise<void> {
  try {
    await using root = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    await change(root, from, to, o);
  } catch (reason) {
    o.signal?.throwIfAborted();
    throw systemError(reason, "");
  }
}

async function change(
  dir: FileHandle,
  from: UserRef,
  to: UserRef,
  o: { readonly signal?: AbortSignal },
): Promise<void> {
  o.signal?.throwIfAborted();
  const base = `/proc/self/fd/${dir.fd}`;
  for (const name of await readdir(base)) {
    const path = `${base}/${name}`;
    await using mark = await open(path, O_PATH | O_NOFOLLOW);
    const stats = await mark.stat();
    if (stats.isDirectory()) {
      await using inner = await open(`/proc/self/fd/${mark.fd}/.`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      await change(inner, from, to, o);
    } else if (stats.uid === from.uid) {
      await lchown(path, to.uid, stats.gid === from.gid ? to.gid : stats.gid);
    }
  }
  const own = await dir.stat();
  if (own.uid === from.uid) await dir.chown(to.uid, own.gid === from.gid ? to.gid : own.gid);
}
