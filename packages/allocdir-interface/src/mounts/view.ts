import { lstat, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { AllocDirError } from "../alloc-dir-error.ts";
import { makeDir } from "../local/make-dir.ts";
import type { Owner } from "../local/nobody.ts";
import type { Mounter } from "../mounter.ts";
import type { TaskDir, UserRef } from "../types.ts";

/** Modes of a view: the task's user comes in, nobody else does. */
const VIEW_MODE = 0o710;
const SHARED_MODE = 0o777;

/** A mounter that can show a directory at another place. */
export type BindMounter = Pick<Mounter, "unmount" | "list"> & Required<Pick<Mounter, "bind">>;

/** What a view is made from. */
export interface ViewOptions {
  /** Where the task's directory is shown; its parent is trusted. */
  readonly dir: string;
  readonly task: TaskDir;
  readonly user: UserRef;
  readonly nobody: Owner;
  readonly mounter: BindMounter;
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (reason: unknown) => {
      if ((reason as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw reason;
    },
  );

/**
 * Shows a task its directory, the shared one and its secrets by bind mounts, without what is mounted below them otherwise: `private` is empty
 * there. What is shown already stays. A step that fails takes back those before it.
 */
export async function makeView({ dir, task, user, nobody, mounter }: ViewOptions): Promise<void> {
  const undo: (() => Promise<unknown>)[] = [];
  const step = async (path: string, mode: number, owner: Owner, shown: string): Promise<void> => {
    if (!(await isThere(path))) undo.push(() => rmdir(path));
    makeDir(path, mode, owner, shown);
  };
  const show = async (source: string, path: string): Promise<void> => {
    if ((await mounter.list(path)).some(({ target }) => target === path)) return;
    await mounter.bind(source, path);
    undo.push(() => mounter.unmount(path));
  };
  const [shared, secrets] = [join(dir, "alloc"), join(dir, "secrets")];
  try {
    await step(dir, VIEW_MODE, user, task.name);
    await show(task.dir, dir);
    // Through the mount: the task's directory itself becomes the user's.
    makeDir(dir, VIEW_MODE, user, task.name);
    await step(shared, SHARED_MODE, nobody, `${task.name}/alloc`);
    await show(task.sharedAllocDir, shared);
    // Several tasks share it: it stays nobody's, whoever mounts it last.
    makeDir(shared, SHARED_MODE, nobody, "alloc");
    await show(task.secretsDir, secrets);
    makeDir(secrets, VIEW_MODE, user, `${task.name}/secrets`);
  } catch (cause) {
    for (const back of undo.reverse()) await back();
    if (cause instanceof AllocDirError) throw cause;
    throw new AllocDirError("IO", `the view of task ${JSON.stringify(task.name)} could not be made`, task.name, {
      cause,
    });
  }
}

/** Who a view was made for; undefined if there is none. */
export async function userOfView(dir: string): Promise<UserRef | undefined> {
  const stats = await lstat(dir).catch((reason: unknown) => {
    if ((reason as NodeJS.ErrnoException).code !== "ENOENT") throw reason;
  });
  return stats?.isDirectory() === true ? { uid: stats.uid, gid: stats.gid } : undefined;
}
