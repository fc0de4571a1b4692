import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import { AllocDirError } from "../alloc-dir-error.ts";
import type { Mounter } from "../mounter.ts";
import { TaskPaths } from "../task-paths.ts";
import type { Isolation, TaskDir, TaskDirOptions } from "../types.ts";
import { buildTurns } from "./build-turns.ts";
import type { DirAccess } from "./dir-access.ts";
import { madeOrNothing, type Make } from "./made-or-nothing.ts";
import { setDir } from "./make-dir.ts";
import type { Owner } from "./nobody.ts";

/** What a task directory shares with its allocation. */
export interface LocalContext {
  readonly allocDir: string;
  readonly asRoot: boolean;
  readonly mounter: Mounter;
  owner(): Promise<Owner | undefined>;
  /** Something is about to be mounted. */
  onMount(): void;
  /** What shall differ from Nomad's for a directory. */
  access(directory: string): Promise<DirAccess | undefined>;
}

const PRIVATE_MB = 1;
const SUPPORTED: readonly Isolation[] = ["none", "image"];

/** The directory of one task in Nomad's tree. */
export class LocalTaskDir extends TaskPaths implements TaskDir {
  readonly #context: LocalContext;
  readonly #secretsMB: number;

  constructor(context: LocalContext, task: TaskDirOptions, dir?: string) {
    super(context.allocDir, task.name, dir);
    this.#context = context;
    this.#secretsMB = Math.max(1, task.secretsMB ?? 0);
  }

  async build(o: { readonly isolation: Isolation }): Promise<void> {
    if (!SUPPORTED.includes(o.isolation)) {
      throw new AllocDirError(
        "UNSUPPORTED_ISOLATION",
        `isolation ${JSON.stringify(o.isolation)} is not supported by the local layout`,
        this.name,
        { details: { field: "isolation" } },
      );
    }
    await buildTurns.run("task", () => this.#build());
  }

  async #build(): Promise<void> {
    const owner = await this.#context.owner();
    const own = (await this.#context.access(this.name)) ?? { mode: 0o777, owner };
    await this.#whole(async (make) => {
      make(this.dir, own.mode, own.owner, this.name);
      make(this.localDir, 0o777, owner, `${this.name}/local`);
      make(this.tmpDir, 0o1777, owner, `${this.name}/tmp`);
      await this.#makeSecretsDirs(make);
    });
  }

  makeSecretsDirs(): Promise<void> {
    return this.#whole((make) => this.#makeSecretsDirs(make));
  }

  /** All of it, or nothing that was not there before. */
  #whole(work: (make: Make) => Promise<void>): Promise<void> {
    return madeOrNothing(this.name, work, async (path) => {
      if (this.#context.asRoot && isMounted(path)) await this.#context.mounter.unmount(path);
    });
  }

  async #makeSecretsDirs(make: Make): Promise<void> {
    const { asRoot, mounter } = this.#context;
    for (const [dir, sizeMB, word] of [
      [this.secretsDir, this.#secretsMB, "secrets"],
      [this.privateDir, PRIVATE_MB, "private"],
    ] as const) {
      if (asRoot && isMounted(dir)) continue;
      const owner = await this.#context.owner();
      make(dir, 0o777, undefined, `${this.name}/${word}`);
      if (!asRoot) continue;
      this.#context.onMount();
      await mounter.mountTmpfs(dir, sizeMB);
      setDir(dir, 0o777, owner, `${this.name}/${word}`);
    }
  }

  /** Takes off what this class mounted, without a look at the table of all mounts. What is busy stays. */
  async unmountOwn(): Promise<void> {
    for (const dir of [this.secretsDir, this.privateDir])
      if (isMounted(dir)) await this.#context.mounter.unmount(dir).catch(() => undefined);
  }

  async unmount(): Promise<void> {
    const { asRoot, mounter } = this.#context;
    if (!asRoot) return;
    const mounts = (await mounter.list(this.dir)).map((m) => m.target).filter((target) => target !== this.dir);
    for (const target of mounts.reverse()) await mounter.unmount(target);
  }
}

/** Whether a tmpfs is mounted on a directory: seen from the file system itself, since a marker file is the task's to delete. */
function isMounted(dir: string): boolean {
  const own = lstatSync(dir, { throwIfNoEntry: false });
  if (own === undefined) return false;
  const parent = lstatSync(dirname(dir), { throwIfNoEntry: false });
  return parent !== undefined && own.dev !== parent.dev;
}
