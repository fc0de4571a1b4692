import { isAbsolute, join, normalize } from "node:path";
import type { TaskDir } from "@outrider/allocdir-interface";

/** A file or folder of a task: the folder that bounds it, and the path below that folder. */
export interface TaskPlace {
  readonly root: string;
  readonly path: string;
}

/** A path that leads out of a task's folders. */
export class TaskPlaceError extends Error {}

const FOLDERS = /\$\{(?:env\.)?NOMAD_(TASK|ALLOC|SECRETS)_DIR\}/g;

/**
 * Where a job's `destination` or `source` is on this machine: relative to the task's folder, or below one of the folders that tasks know by
 * name. Throws TaskPlaceError when it is outside of the task's and the shared folder. Links are for the caller to refuse.
 */
export function placeInTask(
  text: string,
  o: { readonly taskDir: TaskDir; readonly replace: (text: string) => string },
): TaskPlace {
  const { taskDir } = o;
  const host: Readonly<Record<string, string>> = {
    TASK: taskDir.localDir,
    ALLOC: taskDir.sharedAllocDir,
    SECRETS: taskDir.secretsDir,
  };
  // Before the task's own names are filled in: for some drivers these are paths that mean nothing here.
  const filled = o.replace(text.replace(FOLDERS, (_, name: string) => host[name] as string));
  const roots = [taskDir.dir, taskDir.sharedAllocDir];
  const known = isAbsolute(filled) && roots.some((root) => filled.startsWith(`${root}/`));
  const full = normalize(known ? filled : join(taskDir.dir, filled));
  for (const root of roots)
    if (full.startsWith(`${root}/`) && full.length > root.length + 1)
      return { root, path: full.slice(root.length + 1) };
  throw new TaskPlaceError(`the path ${JSON.stringify(text)} is outside of the task's folders`);
}
