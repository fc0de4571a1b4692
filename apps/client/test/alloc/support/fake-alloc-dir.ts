import { mkdirSync } from "node:fs";
import type { AllocDir, TaskDir } from "@outrider/allocdir-interface";

/** Folders that exist in name only; with `root` the tasks' own ones are real. */
export function fakeAllocDir(
  allocId: string,
  o: { readonly missing?: boolean; readonly buildFails?: Error; readonly root?: string } = {},
): AllocDir & { readonly log: string[] } {
  const log: string[] = [];
  const root = `${o.root ?? "/allocs"}/${allocId}`;
  const tasks = new Map<string, TaskDir>();
  const dir: Partial<AllocDir> & { readonly log: string[] } = {
    log,
    allocId,
    allocDirPath: root,
    shareDirPath: `${root}/alloc`,
    state: "new",
    newTaskDir({ name }) {
      const task = fakeTaskDir(root, name, log);
      if (o.root !== undefined)
        for (const dir of [task.localDir, task.secretsDir, task.logDir]) mkdirSync(dir, { recursive: true });
      tasks.set(name, task);
      return task;
    },
    getTaskDir: (name) => tasks.get(name),
    async build() {
      if (o.buildFails !== undefined) throw o.buildFails;
      log.push("build");
    },
    async unmountAll() {
      log.push("unmount");
    },
    async destroy() {
      log.push("destroy");
    },
    async stat() {
      if (o.missing === true) throw new Error("no such file or directory");
      return {} as never;
    },
  };
  return dir as AllocDir & { readonly log: string[] };
}

function fakeTaskDir(root: string, name: string, log: string[]): TaskDir {
  const own = `${root}/${name}`;
  return {
    name,
    allocDir: root,
    dir: own,
    sharedAllocDir: `${root}/alloc`,
    logDir: `${root}/alloc/logs`,
    sharedTaskDir: `${own}/alloc`,
    localDir: `${own}/local`,
    secretsDir: `${own}/secrets`,
    privateDir: `${own}/private`,
    tmpDir: `${own}/tmp`,
    build: async () => void log.push(`build ${name}`),
    makeSecretsDirs: async () => void log.push(`secrets ${name}`),
    unmount: async () => undefined,
  };
}
