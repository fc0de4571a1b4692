import { AllocDirError } from "../alloc-dir-error.ts";
import { TaskPaths } from "../task-paths.ts";
import type { Isolation, TaskDir } from "../types.ts";
import type { MemoryTree } from "./memory-tree.ts";

const SUPPORTED: readonly Isolation[] = ["none", "image"];

/** Makes a folder, or gives one that is there its mode back. */
export function ensureDirectory(files: MemoryTree, path: string, mode: number): void {
  if (!files.exists(path)) files.make(path, "directory", { mode });
  else if (files.kindOf(path) === "directory") files.chmod(path, mode);
  else throw new AllocDirError("NOT_DIRECTORY", `${JSON.stringify(path)} exists and is not a directory`, path);
}

/** The folders of one task; the paths stand for nothing on this machine. */
export class MemoryTaskDir extends TaskPaths implements TaskDir {
  readonly #files: MemoryTree;

  constructor(files: MemoryTree, allocDir: string, name: string) {
    super(allocDir, name);
    this.#files = files;
  }

  // oxlint-disable-next-line require-await -- a failed check is to reject
  async build(o: { readonly isolation: Isolation }): Promise<void> {
    if (!SUPPORTED.includes(o.isolation)) {
      throw new AllocDirError(
        "UNSUPPORTED_ISOLATION",
        `isolation ${JSON.stringify(o.isolation)} is not supported by the layout in memory`,
        this.name,
        { details: { field: "isolation" } },
      );
    }
    const known = this.#files.exists(this.name);
    try {
      ensureDirectory(this.#files, this.name, 0o777);
      ensureDirectory(this.#files, `${this.name}/local`, 0o777);
      ensureDirectory(this.#files, `${this.name}/tmp`, 0o1777);
      this.#secrets();
    } catch (reason) {
      if (!known) this.#files.remove(this.name);
      throw reason;
    }
  }

  // oxlint-disable-next-line require-await -- a failed check is to reject
  async makeSecretsDirs(): Promise<void> {
    this.#secrets();
  }

  unmount(): Promise<void> {
    return Promise.resolve();
  }

  #secrets(): void {
    for (const name of ["secrets", "private"]) ensureDirectory(this.#files, `${this.name}/${name}`, 0o777);
  }
}
