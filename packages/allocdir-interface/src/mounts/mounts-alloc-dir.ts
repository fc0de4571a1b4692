import { readdirSync } from "node:fs";
import { access, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { noopLogger } from "@outrider/foundation";
import { AllocDirError } from "../alloc-dir-error.ts";
import type { AllocFileInfo, FileChange, FileReader, SnapshotReport } from "../alloc-dir-fs.ts";
import { doomTree } from "../local/doomed-tree.ts";
import { LocalAllocDir, type LocalAllocDirOptions } from "../local/local-alloc-dir.ts";
import { nobody } from "../local/nobody.ts";
import { removeTree } from "../local/remove-tree.ts";
import { sweepMounts } from "../local/sweep-mounts.ts";
import { createSystemMounter } from "../local/system-mounter.ts";
import { checkAllocId } from "../names.ts";
import type {
  AllocDir,
  AllocDirState,
  MoveOptions,
  MoveReport,
  MoveSource,
  TaskDir,
  TaskDirOptions,
} from "../types.ts";
import { MountsTaskDir, type MountsContext } from "./mounts-task-dir.ts";
import { makeView, userOfView, type BindMounter } from "./view.ts";

/** What {@link createMountsAllocDir} needs. @public */
export interface MountsAllocDirOptions extends LocalAllocDirOptions {
  /** The directory that holds the views of all tasks: beside `root`, not below a directory that tasks cannot enter; must exist. */
  readonly mountsRoot: string;
  /**
   * Puts the real directory of a task where its view would be, without any mount: needs no root. Then a task's directory is not below the
   * allocation's, and both roots have to be on one file system. Default false.
   */
  readonly realDirs?: boolean;
}

/**
 * The local layout, with a view of its own for each task (`<mountsRoot>/<allocId>-<task>`), for drivers that confine tasks to what they are
 * shown: isolation `unveil`. Isolation `none` and `image` are those of the local layout. @public
 */
export function createMountsAllocDir(options: MountsAllocDirOptions): AllocDir {
  checkAllocId(options.allocId);
  return new MountsAllocDir(options);
}

class MountsAllocDir implements AllocDir {
  readonly allocId: string;
  readonly allocDirPath: string;
  readonly shareDirPath: string;
  readonly onDisk = true;
  readonly #inner: LocalAllocDir;
  readonly #o: MountsAllocDirOptions;
  readonly #mounter: BindMounter;
  readonly #tasks = new Map<string, MountsTaskDir>();
  readonly #context: MountsContext;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(o: MountsAllocDirOptions) {
    this.#o = o;
    const canMount = o.asRoot ?? process.geteuid?.() === 0;
    const system = createSystemMounter();
    const mounter = o.mounter ?? system;
    // A mounter that cannot bind leaves it to the system's.
    this.#mounter = {
      bind: (source, target, options) =>
        mounter.bind?.(source, target, options) ?? system.bind(source, target, options),
      unmount: (target, options) => mounter.unmount(target, options),
      list: (below) => mounter.list(below),
    };
    const places = { root: o.mountsRoot, nameOf: (task: string) => this.#nameOf(task), found: () => this.#found() };
    this.#inner = new LocalAllocDir(o, o.realDirs ? { places } : { release: () => this.#dropViews() });
    this.allocId = this.#inner.allocId;
    this.allocDirPath = this.#inner.allocDirPath;
    this.shareDirPath = this.#inner.shareDirPath;
    this.#context = {
      viewOf: (task) => (o.realDirs ? undefined : join(o.mountsRoot, this.#nameOf(task))),
      canMount,
      checkBuilt: async () => {
        await access(this.shareDirPath).catch((cause: unknown) => {
          throw new AllocDirError("NOT_BUILT", "the allocation directory is not built", "", { cause });
        });
      },
      makeView: (task, user) => this.#makeView(task, user),
      restoreView: async (task) => {
        const view = this.#context.viewOf(task.name);
        const user = view === undefined || !canMount ? undefined : await userOfView(view);
        if (user !== undefined) await this.#makeView(task, user);
      },
      dropView: (task) => this.#dropView(task),
      alone: (fn) => this.#alone(fn),
    };
  }

  get state(): AllocDirState {
    return this.#inner.state;
  }

  newTaskDir(task: TaskDirOptions): TaskDir {
    const inner = this.#inner.newTaskDir(task);
    const made = this.#tasks.get(task.name) ?? new MountsTaskDir(inner, this.#context);
    this.#tasks.set(task.name, made);
    return made;
  }

  getTaskDir(name: string): TaskDir | undefined {
    return this.#tasks.get(name);
  }

  build(o: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return this.#alone(async () => {
      o.signal?.throwIfAborted();
      await mkdir(this.#o.mountsRoot, { recursive: true, mode: 0o711 });
      await this.#inner.build(o);
    });
  }

  move(other: MoveSource, taskNames: readonly string[], o?: MoveOptions): Promise<MoveReport> {
    return this.#alone(() => this.#inner.move(other, taskNames, o));
  }

  unmountAll(): Promise<void> {
    return this.#alone(async () => {
      if (!this.#o.realDirs) await this.#dropViews();
      await this.#inner.unmountAll();
    });
  }

  destroy(): Promise<void> {
    return this.#alone(() => this.#inner.destroy());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  list(path: string): Promise<AllocFileInfo[]> {
    return this.#inner.list(path);
  }

  stat(path: string): Promise<AllocFileInfo> {
    return this.#inner.stat(path);
  }

  readAt(
    path: string,
    offset: number | bigint,
    o?: { readonly limit?: number; readonly signal?: AbortSignal },
  ): Promise<FileReader> {
    return this.#inner.readAt(path, offset, o);
  }

  identify(path: string): Promise<{ readonly identity: string; readonly size: number } | undefined> {
    return this.#inner.identify(path);
  }

  blockUntilExists(path: string, o: { readonly signal: AbortSignal }): Promise<void> {
    return this.#inner.blockUntilExists(path, o);
  }

  changeEvents(path: string, curOffset: number, o: { readonly signal: AbortSignal }): AsyncIterable<FileChange> {
    return this.#inner.changeEvents(path, curOffset, o);
  }

  snapshot(out: Writable, o?: { readonly signal?: AbortSignal }): Promise<SnapshotReport> {
    return this.#inner.snapshot(out, o);
  }

  #nameOf(task: string): string {
    return `${this.#o.allocId}-${task}`;
  }

  /** Tasks of this allocation that have a directory below the root of mounts, registered or not. */
  #found(): string[] {
    const prefix = this.#nameOf("");
    let names: string[];
    try {
      names = readdirSync(this.#o.mountsRoot);
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw reason;
    }
    return names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  }

  /** Waits for what was begun before. */
  #alone<T>(fn: () => Promise<T>): Promise<T> {
    const next = this.#queue.then(fn, fn);
    this.#queue = next.catch(() => undefined);
    return next;
  }

  async #makeView(task: TaskDir, user: { readonly uid: number; readonly gid: number }): Promise<void> {
    const dir = join(this.#o.mountsRoot, this.#nameOf(task.name));
    await makeView({ dir, task, user, nobody: await nobody(), mounter: this.#mounter });
  }

  async #dropViews(): Promise<void> {
    for (const task of this.#found()) await this.#dropView(task);
  }

  /** Takes a view off, whatever is mounted in it, and deletes its place. Nothing is deleted while a mount remains. */
  async #dropView(task: string): Promise<void> {
    if (this.#o.realDirs) return;
    const name = this.#nameOf(task);
    const dir = join(this.#o.mountsRoot, name);
    if (this.#context.canMount) {
      await sweepMounts({
        mounter: this.#mounter,
        list: async () => (await this.#mounter.list(dir)).map((mount) => mount.target),
        logger: (this.#o.logger ?? noopLogger).child({ allocId: this.allocId, task }),
        clock: this.#o.clock,
      });
    }
    const doomed = await doomTree(this.#o.mountsRoot, name);
    if (doomed !== undefined) await removeTree(doomed, task);
  }
}
