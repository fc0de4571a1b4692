import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { PassThrough, type Writable } from "node:stream";
import { systemClock, type Clock } from "@outrider/backoff";
import { AllocDirError } from "../alloc-dir-error.ts";
import type { AllocFileInfo, FileChange, FileReader, SkipReason, SnapshotReport } from "../alloc-dir-fs.ts";
import { checkAllocId, checkTaskName } from "../names.ts";
import type {
  AllocDir,
  AllocDirState,
  MoveOptions,
  MoveReport,
  MoveSource,
  TaskDir,
  TaskDirOptions,
} from "../types.ts";
import { filesIn, readMemoryArchive, writeMemoryArchive, type MemoryRoot } from "./memory-archive.ts";
import { MemoryFileApi } from "./memory-file-api.ts";
import type { MemoryFiles } from "./memory-files.ts";
import { MemoryTree } from "./memory-tree.ts";
import type { MemoryNode } from "./memory-node.ts";
import { ensureDirectory, MemoryTaskDir } from "./memory-task-dir.ts";

/** What {@link createMemoryAllocDir} needs. @public */
export interface MemoryAllocDirOptions {
  readonly allocId: string;
  /** Gives files their times. Default: the system's. */
  readonly clock?: Clock;
}

/** An allocation directory without a disk. @public */
export interface MemoryAllocDir extends AllocDir {
  /** What the tasks do to their files. */
  readonly files: MemoryFiles;
}

/** What paths begin with that stand for nothing on this machine. */
const NOWHERE = "/memory";

/** An allocation directory wholly in memory, for tests and simulators: same contract, no file is touched. @public */
export function createMemoryAllocDir(options: MemoryAllocDirOptions): MemoryAllocDir {
  checkAllocId(options.allocId);
  return new MemoryAllocation(options);
}

class MemoryAllocation implements MemoryAllocDir {
  readonly allocId: string;
  readonly allocDirPath: string;
  readonly shareDirPath: string;
  readonly onDisk = false;
  readonly files: MemoryTree;
  readonly #tasks = new Map<string, MemoryTaskDir>();
  readonly #api: MemoryFileApi;
  #ended = endController();
  #state: AllocDirState = "new";

  constructor({ allocId, clock = systemClock }: MemoryAllocDirOptions) {
    this.allocId = allocId;
    this.allocDirPath = join(NOWHERE, allocId);
    this.shareDirPath = join(this.allocDirPath, "alloc");
    this.files = new MemoryTree(clock);
    this.#api = new MemoryFileApi(this.files, () => this.#ended.signal);
  }

  get state(): AllocDirState {
    return this.#state;
  }

  newTaskDir(task: TaskDirOptions): TaskDir {
    checkTaskName(task.name);
    const made = this.#tasks.get(task.name) ?? new MemoryTaskDir(this.files, this.allocDirPath, task.name);
    this.#tasks.set(task.name, made);
    return made;
  }

  getTaskDir(name: string): TaskDir | undefined {
    return this.#tasks.get(name);
  }

  // oxlint-disable-next-line require-await -- a failed check is to reject
  async build(o: { readonly signal?: AbortSignal } = {}): Promise<void> {
    o.signal?.throwIfAborted();
    const known = this.files.root !== undefined;
    try {
      this.files.makeRoot(0o755);
      for (const name of ["alloc", "alloc/logs", "alloc/tmp", "alloc/data"]) ensureDirectory(this.files, name, 0o777);
    } catch (reason) {
      if (!known && this.files.root !== undefined) this.files.remove("/");
      throw reason;
    }
    if (this.#ended.signal.aborted) this.#ended = endController();
    this.#state = "built";
  }

  unmountAll(): Promise<void> {
    return Promise.resolve();
  }

  // oxlint-disable-next-line require-await -- a failed check is to reject
  async destroy(): Promise<void> {
    if (this.#state === "destroyed") return;
    this.#state = "destroying";
    this.#ended.abort(new AllocDirError("DESTROYED", "the allocation directory was destroyed", ""));
    if (this.files.root !== undefined) this.files.remove("/");
    this.#state = "destroyed";
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  // oxlint-disable-next-line require-await -- a failed check is to reject
  async list(path: string): Promise<AllocFileInfo[]> {
    return this.#api.list(path);
  }

  // oxlint-disable-next-line require-await -- a failed check is to reject
  async stat(path: string): Promise<AllocFileInfo> {
    return this.#api.stat(path);
  }

  // oxlint-disable-next-line require-await -- a failed check is to reject
  async readAt(
    path: string,
    offset: number | bigint,
    o: { readonly limit?: number; readonly signal?: AbortSignal } = {},
  ): Promise<FileReader> {
    return this.#api.readAt(path, offset, o);
  }

  // oxlint-disable-next-line require-await -- a failed check is to reject
  async identify(path: string): Promise<{ readonly identity: string; readonly size: number } | undefined> {
    return this.#api.identify(path);
  }

  blockUntilExists(path: string, o: { readonly signal: AbortSignal }): Promise<void> {
    return this.#api.blockUntilExists(path, o.signal);
  }

  changeEvents(path: string, curOffset: number, o: { readonly signal: AbortSignal }): AsyncIterable<FileChange> {
    return this.#api.changeEvents(path, curOffset, o.signal);
  }

  async snapshot(out: Writable, o: { readonly signal?: AbortSignal } = {}): Promise<SnapshotReport> {
    const { root } = this.files;
    if (root === undefined || this.#state !== "built") {
      out.destroy();
      throw new AllocDirError("NOT_BUILT", "the allocation directory is not built: no such file or directory", "");
    }
    const secrets = [...root.children.values()].flatMap((task) =>
      ["secrets", "private"].map((kind) => task.children.get(kind)).filter((node) => node !== undefined),
    );
    const signals = [this.#ended.signal, ...(o.signal ? [o.signal] : [])];
    return writeMemoryArchive(this.#roots([...this.#tasks.keys()].sort()), filesIn(secrets), out, signals);
  }

  async move(other: MoveSource, taskNames: readonly string[], o: MoveOptions = {}): Promise<MoveReport> {
    o.signal?.throwIfAborted();
    taskNames.forEach(checkTaskName);
    if (this.#state !== "built") {
      const where = JSON.stringify(this.allocId);
      throw new AllocDirError("NOT_BUILT", `unable to move to ${where} - alloc dir is not built`, "");
    }
    const names = ["alloc/data", ...taskNames.map((task) => `${task}/local`)];
    for (const { name, node } of this.#roots(taskNames)) {
      if (node.kind !== "directory" || node.children.size > 0)
        throw new AllocDirError("NOT_EMPTY", `${JSON.stringify(name)} holds something already`, name);
    }
    const skipped: { path: string; reason: SkipReason }[] = [];
    let found: ReadonlyMap<string, MemoryNode>;
    if (other instanceof MemoryAllocation) found = other.#release(names, skipped);
    else found = await copyOf(other, names, skipped, o);
    for (const [name, node] of found) {
      const task = name.slice(0, name.indexOf("/"));
      if (task !== "alloc") ensureDirectory(this.files, task, 0o777);
      if (this.files.exists(name)) this.files.remove(name);
      this.files.adopt(name, node);
    }
    return { moved: [...found.keys()], skipped };
  }

  /** What there is of data and these tasks' local. */
  #roots(tasks: readonly string[]): MemoryRoot[] {
    const { root } = this.files;
    const place = (top: string, name: string): MemoryRoot[] => {
      const node = root?.children.get(top)?.children.get(name);
      return node === undefined ? [] : [{ name: `${top}/${name}`, node }];
    };
    return [...place("alloc", "data"), ...tasks.flatMap((task) => place(task, "local"))];
  }

  /** Gives folders away. */
  #release(names: readonly string[], skipped: { path: string; reason: SkipReason }[]): Map<string, MemoryNode> {
    const found = new Map<string, MemoryNode>();
    for (const { name, node } of this.#roots(names.slice(1).map((one) => one.slice(0, -"/local".length)))) {
      if (node.kind === "directory") found.set(name, node);
      else skipped.push({ path: name, reason: "link" });
    }
    for (const name of found.keys()) this.files.release(name);
    return found;
  }
}

/** A copy of another layout's folders, by way of an archive. */
async function copyOf(
  other: MoveSource,
  names: readonly string[],
  skipped: { path: string; reason: SkipReason }[],
  o: MoveOptions,
): Promise<Map<string, MemoryNode>> {
  const pipe = new PassThrough();
  pipe.on("error", () => undefined);
  const [made, found] = await Promise.allSettled([
    other.snapshot(pipe, o.signal ? { signal: o.signal } : {}),
    readMemoryArchive(pipe, new Set(names)),
  ]);
  if (made.status === "rejected") throw made.reason;
  if (found.status === "rejected") throw found.reason;
  const { skippedPaths } = made.value;
  skipped.push(
    ...skippedPaths.filter(({ path }) => names.some((name) => path === name || path.startsWith(`${name}/`))),
  );
  return found.value;
}

/** Every open reader listens to the end of the allocation. */
function endController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
