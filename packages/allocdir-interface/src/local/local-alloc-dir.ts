import { setMaxListeners } from "node:events";
import { access, mkdir, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Clock } from "@outrider/backoff";
import { noopLogger, type Logger } from "@outrider/foundation";
import { AllocDirError, systemError } from "../alloc-dir-error.ts";
import type { Writable } from "node:stream";
import type { AllocFileInfo, FileChange, FileReader, SnapshotReport } from "../alloc-dir-fs.ts";
import { checkAllocId, checkTaskName } from "../names.ts";
import { moveDisk } from "../migrate/move.ts";
import { writeSnapshot } from "../migrate/snapshot.ts";
import type { Mounter } from "../mounter.ts";
import type {
  AllocDir,
  AllocDirState,
  MoveOptions,
  MoveReport,
  MoveSource,
  TaskDir,
  TaskDirOptions,
} from "../types.ts";
import { archiveRequest } from "./archive-request.ts";
import { buildTurns } from "./build-turns.ts";
import type { DirAccess } from "./dir-access.ts";
import { doomTree } from "./doomed-tree.ts";
import { LocalFileApi } from "./file-api.ts";
import { LocalTaskDir, type LocalContext } from "./local-task-dir.ts";
import { madeOrNothing } from "./made-or-nothing.ts";
import { nobody } from "./nobody.ts";
import { removeTree } from "./remove-tree.ts";
import { sweepMounts } from "./sweep-mounts.ts";
import { createSystemMounter } from "./system-mounter.ts";
import { TaskPlaces, type OtherPlaces } from "./task-places.ts";

/** What {@link createLocalAllocDir} needs. @public */
export interface LocalAllocDirOptions {
  readonly allocId: string;
  /** The directory that holds all allocations; must exist. */
  readonly root: string;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Default: mount(8) and umount(8). Only used as root. */
  readonly mounter?: Mounter;
  /** Default: whether the process is root. Without, secrets and private are plain directories. */
  readonly asRoot?: boolean;
  /**
   * Mode and owner of the allocation's own directory (`""`), of the shared one (`alloc`) or of a task's (its name), where they shall differ from
   * Nomad's: 0755, and 0777 of nobody. Asked whenever one is built; they are set in one step, never opened first.
   */
  readonly access?: (directory: string) => DirAccess | undefined | Promise<DirAccess | undefined>;
}

/** Nomad's layout on the local file system: `alloc/{data,logs,tmp}` and a directory a task. @public */
export function createLocalAllocDir(options: LocalAllocDirOptions): AllocDir {
  checkAllocId(options.allocId);
  return new LocalAllocDir(options);
}

/** What other layouts add to this one. */
export interface LocalExtras {
  /** Where the directories of tasks are, when they are not below the allocation's. */
  readonly places?: OtherPlaces;
  /** Called by `destroy`, when nothing reads any more and nothing is deleted yet. */
  readonly release?: () => Promise<void>;
}

/** The layout itself; others are built on it. */
export class LocalAllocDir implements AllocDir {
  readonly allocId: string;
  readonly allocDirPath: string;
  readonly shareDirPath: string;
  readonly onDisk = true;
  readonly #root: string;
  readonly #logger: Logger;
  readonly #clock: Clock | undefined;
  readonly #context: LocalContext;
  readonly #tasks = new Map<string, LocalTaskDir>();
  readonly #files: LocalFileApi;
  readonly #places: TaskPlaces;
  readonly #release: LocalExtras["release"];
  #ended = endController();
  #state: AllocDirState = "new";
  /** Nothing was left mounted at the last look, and nothing was mounted since. */
  #swept = false;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(o: LocalAllocDirOptions, extras: LocalExtras = {}) {
    this.#release = extras.release;
    this.allocId = o.allocId;
    this.#root = o.root;
    this.allocDirPath = join(o.root, o.allocId);
    this.shareDirPath = join(this.allocDirPath, "alloc");
    this.#places = new TaskPlaces(this.allocDirPath, extras.places);
    this.#logger = (o.logger ?? noopLogger).child({ allocId: o.allocId });
    this.#clock = o.clock;
    this.#context = {
      allocDir: this.allocDirPath,
      asRoot: o.asRoot ?? process.geteuid?.() === 0,
      mounter: o.mounter ?? createSystemMounter(),
      owner: () => (this.#context.asRoot ? nobody() : Promise.resolve(undefined)),
      onMount: () => {
        this.#swept = false;
      },
      access: async (directory) => o.access?.(directory),
    };
    this.#files = new LocalFileApi({
      path: this.allocDirPath,
      ended: () => this.#ended.signal,
      clock: o.clock,
      grafts: this.#places.grafts,
    });
  }

  get state(): AllocDirState {
    return this.#state;
  }

  newTaskDir(task: TaskDirOptions): TaskDir {
    checkTaskName(task.name);
    const known = this.#tasks.get(task.name);
    if (known !== undefined) return known;
    const made = new LocalTaskDir(this.#context, task, join(...this.#places.of(task.name)));
    this.#tasks.set(task.name, made);
    return made;
  }

  getTaskDir(name: string): TaskDir | undefined {
    return this.#tasks.get(name);
  }

  build(o: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return this.#alone(() => buildTurns.run("allocation", () => this.#build(), o.signal));
  }

  async #build(): Promise<void> {
    const owner = await this.#context.owner();
    const own = (await this.#context.access("")) ?? { mode: 0o755 };
    const shared = (await this.#context.access("alloc")) ?? { mode: 0o777, owner };
    await madeOrNothing("", async (make) => {
      try {
        make(this.allocDirPath, own.mode, own.owner, "");
      } catch (reason) {
        if ((reason as NodeJS.ErrnoException).code !== "ENOENT") throw reason;
        await mkdir(this.#root, { recursive: true });
        make(this.allocDirPath, own.mode, own.owner, "");
      }
      for (const name of ["alloc", "alloc/logs", "alloc/tmp", "alloc/data"]) {
        const { mode, owner: whose } = name === "alloc" ? shared : { mode: 0o777, owner };
        make(join(this.allocDirPath, name), mode, whose, name);
      }
    });
    if (this.#ended.signal.aborted) this.#ended = endController();
    this.#state = "built";
  }

  move(other: MoveSource, taskNames: readonly string[], o: MoveOptions = {}): Promise<MoveReport> {
    return this.#alone(async () => {
      if (this.#state !== "built") {
        throw new AllocDirError(
          "NOT_BUILT",
          `unable to move to ${JSON.stringify(this.allocId)} - alloc dir is not built`,
          "",
        );
      }
      for (const name of taskNames) checkTaskName(name);
      const target = {
        root: this.#root,
        allocId: this.allocId,
        shareDirPath: this.shareDirPath,
        localDirOf: (task: string) => join(...this.#places.of(task), "local"),
        owner: await this.#context.owner(),
      };
      return moveDisk(other, target, taskNames, o);
    });
  }

  unmountAll(): Promise<void> {
    return this.#alone(() => this.#sweepMounts());
  }

  destroy(): Promise<void> {
    return this.#alone(async () => {
      if (this.#state === "destroyed") return;
      this.#state = "destroying";
      const reason = new AllocDirError("DESTROYED", "the allocation directory was destroyed", "");
      this.#ended.abort(reason);
      this.#files.hub.end(reason);
      await this.#release?.();
      if (!this.#swept) await this.#sweepMounts();
      try {
        for (const task of this.#places.elsewhere()) await this.#delete(...this.#places.of(task));
        await this.#delete(this.#root, basename(this.allocDirPath));
      } catch (cause) {
        throw systemError(cause, "");
      }
      this.#state = "destroyed";
    });
  }

  async #delete(root: string, name: string): Promise<void> {
    const doomed = await doomTree(root, name);
    if (doomed === undefined) return;
    await removeTree(doomed, this.allocId).catch(async (reason: unknown) => {
      const { code } = reason as NodeJS.ErrnoException;
      if (code === "ENOTDIR") return unlink(doomed);
      if (code !== "ERR_OUTRIDER_ALLOCDIR_BUSY" || !this.#swept) throw reason;
      // Somebody else mounted something since.
      await this.#sweep([doomed]);
      await removeTree(doomed, this.allocId);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  list(path: string): Promise<AllocFileInfo[]> {
    return this.#files.list(path);
  }

  stat(path: string): Promise<AllocFileInfo> {
    return this.#files.stat(path);
  }

  readAt(
    path: string,
    offset: number | bigint,
    o?: { readonly limit?: number; readonly signal?: AbortSignal },
  ): Promise<FileReader> {
    return this.#files.readAt(path, offset, o);
  }

  identify(path: string): Promise<{ readonly identity: string; readonly size: number } | undefined> {
    return this.#files.identify(path);
  }

  changeEvents(path: string, curOffset: number, o: { readonly signal: AbortSignal }): AsyncIterable<FileChange> {
    return this.#files.changeEvents(path, curOffset, o);
  }

  blockUntilExists(path: string, o: { readonly signal: AbortSignal }): Promise<void> {
    return this.#files.blockUntilExists(path, o);
  }

  async snapshot(out: Writable, o: { readonly signal?: AbortSignal } = {}): Promise<SnapshotReport> {
    const base = this.allocDirPath;
    try {
      await access(base);
    } catch (cause) {
      const reason = this.#ended.signal.aborted
        ? (this.#ended.signal.reason as AllocDirError)
        : new AllocDirError("NOT_BUILT", "the allocation directory does not exist", "", { cause });
      out.destroy(reason);
      throw reason;
    }
    const request = archiveRequest({
      allocId: this.allocId,
      allocDir: base,
      tasks: this.#tasks.keys(),
      places: this.#places,
    });
    return writeSnapshot(request, out, {
      signals: [this.#ended.signal, ...(o.signal === undefined ? [] : [o.signal])],
    });
  }

  /** build, destroy and unmountAll of one allocation never overlap. */
  #alone<T>(fn: () => Promise<T>): Promise<T> {
    const next = this.#queue.then(fn, fn);
    this.#queue = next.catch(() => undefined);
    return next;
  }

  async #sweepMounts(): Promise<void> {
    if (!this.#context.asRoot) return;
    for (const task of this.#tasks.values()) await task.unmountOwn();
    const elsewhere = this.#places.elsewhere().map((task) => join(...this.#places.of(task)));
    await this.#sweep([this.allocDirPath, ...elsewhere]);
    this.#swept = true;
  }

  async #sweep(dirs: readonly string[]): Promise<void> {
    const { mounter } = this.#context;
    const list = async (): Promise<string[]> =>
      (await Promise.all(dirs.map((dir) => mounter.list(dir)))).flat().map((m) => m.target);
    await sweepMounts({ mounter, list, logger: this.#logger, clock: this.#clock });
  }
}

/** Every open reader listens to the end of the allocation. */
function endController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
