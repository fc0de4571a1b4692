import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { mkdir, readdir, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { backoff, sleep, type Clock } from "@outrider/backoff";
import { noopLogger, type Logger } from "@outrider/foundation";
import { AllocDirError } from "../alloc-dir-error.ts";
import type { Writable } from "node:stream";
import type { AllocFileInfo, FileChange, FileReader, SnapshotReport } from "../alloc-dir-fs.ts";
import { checkAllocId, checkTaskName } from "../names.ts";
import type { ArchiveRequest } from "../migrate/archive-writer.ts";
import { moveDisk } from "../migrate/move.ts";
import { writeSnapshot } from "../migrate/snapshot.ts";
import { STAGING_PREFIX } from "../migrate/staging.ts";
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
import { LocalFileApi } from "./file-api.ts";
import { LocalTaskDir, type LocalContext } from "./local-task-dir.ts";
import { makeDir } from "./make-dir.ts";
import { nobody } from "./nobody.ts";
import { removeTree } from "./remove-tree.ts";
import { createSystemMounter } from "./system-mounter.ts";

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
}

/** Name of a tree that is being deleted; swept at the next start if the process dies meanwhile. */
const DESTROY_PREFIX = ".destroy-";
const BUSY_TRIES = 6;
const BUSY_WAIT_MS = 50;
const BUSY_LIMIT_MS = 2000;

/** Nomad's layout on the local file system: `alloc/{data,logs,tmp}` and a directory a task. @public */
export function createLocalAllocDir(options: LocalAllocDirOptions): AllocDir {
  checkAllocId(options.allocId);
  return new LocalAllocDir(options);
}

/** Deletes trees whose deletion, and disks whose move, was interrupted. Call once at start, before any allocation is restored. @public */
export async function sweepDestroyed(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    if (name.startsWith(DESTROY_PREFIX) || name.startsWith(STAGING_PREFIX)) await removeTree(join(root, name), name);
  }
}

class LocalAllocDir implements AllocDir {
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
  #ended = endController();
  #state: AllocDirState = "new";
  #queue: Promise<unknown> = Promise.resolve();

  constructor(o: LocalAllocDirOptions) {
    this.allocId = o.allocId;
    this.#root = o.root;
    this.allocDirPath = join(o.root, o.allocId);
    this.shareDirPath = join(this.allocDirPath, "alloc");
    this.#logger = (o.logger ?? noopLogger).child({ allocId: o.allocId });
    this.#clock = o.clock;
    this.#context = {
      allocDir: this.allocDirPath,
      asRoot: o.asRoot ?? process.geteuid?.() === 0,
      mounter: o.mounter ?? createSystemMounter(),
      owner: () => (this.#context.asRoot ? nobody() : Promise.resolve(undefined)),
    };
    this.#files = new LocalFileApi({
      path: this.allocDirPath,
      ended: () => this.#ended.signal,
      clock: o.clock,
    });
  }

  get state(): AllocDirState {
    return this.#state;
  }

  newTaskDir(task: TaskDirOptions): TaskDir {
    checkTaskName(task.name);
    const known = this.#tasks.get(task.name);
    if (known !== undefined) return known;
    const made = new LocalTaskDir(this.#context, task);
    this.#tasks.set(task.name, made);
    return made;
  }

  getTaskDir(name: string): TaskDir | undefined {
    return this.#tasks.get(name);
  }

  build(o: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return this.#alone(async () => {
      o.signal?.throwIfAborted();
      const owner = await this.#context.owner();
      await mkdir(this.#root, { recursive: true });
      await makeDir(this.allocDirPath, 0o755, undefined, "");
      for (const name of ["alloc", "alloc/logs", "alloc/tmp", "alloc/data"])
        await makeDir(join(this.allocDirPath, name), 0o777, owner, name);
      if (this.#ended.signal.aborted) this.#ended = endController();
      this.#state = "built";
    });
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
        localDirOf: (task: string) => join(this.allocDirPath, task, "local"),
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
      await this.#sweepMounts();
      const doomed = join(
        this.#root,
        `${DESTROY_PREFIX}${basename(this.allocDirPath)}-${randomBytes(4).toString("hex")}`,
      );
      try {
        await rename(this.allocDirPath, doomed);
      } catch (reason) {
        if ((reason as NodeJS.ErrnoException).code !== "ENOENT") throw reason;
        this.#state = "destroyed";
        return;
      }
      await removeTree(doomed, this.allocId);
      this.#state = "destroyed";
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

  snapshot(out: Writable, o: { readonly signal?: AbortSignal } = {}): Promise<SnapshotReport> {
    const base = this.allocDirPath;
    const tasks = [...this.#tasks.keys()].sort();
    const request: ArchiveRequest = {
      allocId: this.allocId,
      roots: [
        { name: "alloc/data", base, below: ["alloc", "data"] },
        ...tasks.map((task) => ({ name: `${task}/local`, base, below: [task, "local"] })),
      ],
      secrets: [],
      taskParents: [base],
    };
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

  /** Takes off what really is mounted below the allocation, deepest and newest first, until nothing is left. */
  async #sweepMounts(): Promise<void> {
    if (!this.#context.asRoot) return;
    const { mounter } = this.#context;
    for (let tries = 0; ; tries++) {
      const mounts = (await mounter.list(this.allocDirPath)).map((m) => m.target);
      if (mounts.length === 0) return;
      const lazy = tries >= BUSY_TRIES;
      if (lazy) this.#logger.warn({ mounts }, "mounts stay busy: detaching them");
      if (tries > BUSY_TRIES)
        throw new AllocDirError("BUSY", `${mounts.length} mounts below the allocation could not be taken off`, "", {
          recoverable: true,
        });
      let failed = false;
      for (const target of mounts.reverse().sort((a, b) => b.split("/").length - a.split("/").length)) {
        await mounter.unmount(target, { lazy }).catch(() => (failed = true));
      }
      if (failed)
        await sleep(
          backoff(BUSY_WAIT_MS, BUSY_LIMIT_MS, tries),
          this.#clock === undefined ? {} : { clock: this.#clock },
        );
    }
  }
}

/** Every open reader listens to the end of the allocation. */
function endController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
