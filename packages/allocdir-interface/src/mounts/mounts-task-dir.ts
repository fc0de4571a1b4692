import { join } from "node:path";
import { AllocDirError } from "../alloc-dir-error.ts";
import { TaskPaths } from "../task-paths.ts";
import type { Isolation, TaskDir, UserRef } from "../types.ts";

/** What the directory of a task needs of its layout. */
export interface MountsContext {
  /** Where the view of a task is; undefined if its directory is its view. */
  readonly viewOf: (task: string) => string | undefined;
  readonly canMount: boolean;
  /** Rejects when the allocation has no directory yet. */
  checkBuilt(): Promise<void>;
  makeView(task: TaskDir, user: UserRef): Promise<void>;
  /** Makes a view again that was lost with its mounts, as by a restart of the machine. */
  restoreView(task: TaskDir): Promise<void>;
  dropView(task: string): Promise<void>;
  /** One after the other with all that builds and destroys. */
  alone<T>(fn: () => Promise<T>): Promise<T>;
}

/** The directory of a task that a driver shows to it by mounts. */
export class MountsTaskDir extends TaskPaths implements TaskDir {
  readonly mountsTaskDir: string;
  readonly mountsAllocDir: string;
  readonly mountsSecretsDir: string;
  readonly #inner: TaskDir;
  readonly #context: MountsContext;

  constructor(inner: TaskDir, context: MountsContext) {
    super(inner.allocDir, inner.name, inner.dir);
    this.#inner = inner;
    this.#context = context;
    const view = context.viewOf(inner.name);
    this.mountsTaskDir = view ?? inner.dir;
    this.mountsAllocDir = view === undefined ? inner.sharedAllocDir : join(view, "alloc");
    this.mountsSecretsDir = view === undefined ? inner.secretsDir : join(view, "secrets");
  }

  build(o: { readonly isolation: Isolation; readonly user?: UserRef }): Promise<void> {
    return this.#context.alone(async () => {
      await this.#context.checkBuilt();
      if (o.isolation !== "unveil") return this.#inner.build(o);
      const { user } = o;
      if (user === undefined) throw this.#refused("needs the user who runs the task", "user");
      const isOwnView = this.#context.viewOf(this.name) === undefined;
      if (!isOwnView && !this.#context.canMount) throw this.#refused("needs root, or real directories", "isolation");
      await this.#inner.build({ isolation: "none" });
      if (!isOwnView) await this.#context.makeView(this, user);
    });
  }

  makeSecretsDirs(): Promise<void> {
    return this.#context.alone(async () => {
      await this.#inner.makeSecretsDirs();
      await this.#context.restoreView(this);
    });
  }

  unmount(): Promise<void> {
    return this.#context.alone(async () => {
      await this.#context.dropView(this.name);
      await this.#inner.unmount();
    });
  }

  #refused(what: string, field: string): AllocDirError {
    return new AllocDirError("UNSUPPORTED_ISOLATION", `isolation "unveil" ${what}`, this.name, { details: { field } });
  }
}
