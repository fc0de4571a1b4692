import type { AllocDirFS, SkipReason } from "./alloc-dir-fs.ts";

/** How a driver shows the directory to its tasks (Nomad's file system isolation). @public */
export type Isolation = "none" | "chroot" | "image" | "unveil";

/** The life of an allocation directory. @public */
export type AllocDirState = "new" | "built" | "destroying" | "destroyed";

/** What a task directory is made for. @public */
export interface TaskDirOptions {
  /** One plain path segment, see {@link checkTaskName}. */
  readonly name: string;
  /** Size of the secrets tmpfs in MiB; 0 or absent counts as 1. */
  readonly secretsMB?: number;
}

/** A user and a group by number. @public */
export interface UserRef {
  readonly uid: number;
  readonly gid: number;
}

/** What a move from another allocation is to do besides. @public */
export interface MoveOptions {
  readonly signal?: AbortSignal;
  /** By task: whose files there become whose. Only as root; files of others keep their owner. */
  readonly owners?: Readonly<Record<string, { readonly from: UserRef; readonly to: UserRef }>>;
}

/** From where a disk can be taken over: another allocation, or what was unpacked from an archive. @public */
export type MoveSource = Pick<AllocDir, "onDisk" | "allocDirPath" | "shareDirPath" | "getTaskDir" | "snapshot">;

/** What a move took over. @public */
export interface MoveReport {
  /** Directories taken over, relative to the allocation: `alloc/data`, `web/local`. */
  readonly moved: readonly string[];
  /** What was left out: places that are no directory, and, when copied, what a snapshot leaves out as well. */
  readonly skipped: readonly { readonly path: string; readonly reason: SkipReason }[];
}

/** The directories of one task; absolute host paths. @public */
export interface TaskDir {
  readonly name: string;
  /** `<root>/<allocId>` */
  readonly allocDir: string;
  /** `<allocDir>/<task>` */
  readonly dir: string;
  readonly sharedAllocDir: string;
  readonly logDir: string;
  /** Only exists with isolation `chroot`. */
  readonly sharedTaskDir: string;
  readonly localDir: string;
  readonly secretsDir: string;
  readonly privateDir: string;
  readonly tmpDir: string;
  /** Where a task with isolation `unveil` sees its directory; absent in layouts that have no such view. */
  readonly mountsTaskDir?: string;
  readonly mountsAllocDir?: string;
  readonly mountsSecretsDir?: string;
  /** Makes the directories; may be called again: modes are set anew, content is kept. `user` is who runs the task, for isolation `unveil`. */
  build(options: { readonly isolation: Isolation; readonly user?: UserRef }): Promise<void>;
  /** Makes or mounts `secrets` and `private` where they are missing; content of mounted ones is kept. Cheap on every start. */
  makeSecretsDirs(): Promise<void>;
  /** Takes off whatever is mounted below the task's directory. */
  unmount(): Promise<void>;
}

/** The directory of one allocation: its tree, its life, and the file API on it. @public */
export interface AllocDir extends AllocDirFS, AsyncDisposable {
  readonly allocId: string;
  readonly allocDirPath: string;
  readonly shareDirPath: string;
  readonly state: AllocDirState;
  /** Whether the paths stand for real directories on this machine; a layout without is moved from by a snapshot. */
  readonly onDisk: boolean;
  /** Registers a task; its directories appear by `build` of the result. Throws AllocDirError BAD_NAME. */
  newTaskDir(task: TaskDirOptions): TaskDir;
  getTaskDir(name: string): TaskDir | undefined;
  /** Makes the allocation's own directories. Idempotent; works again after `destroy`. */
  build(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Takes over `alloc/data` and the `local` of these tasks from another allocation; its other tasks, logs and secrets stay where they
   * are. All or nothing: what was moved before a failure is moved back. Rejects NOT_BUILT, and NOT_EMPTY when there is something already.
   */
  move(other: MoveSource, taskNames: readonly string[], options?: MoveOptions): Promise<MoveReport>;
  /** Takes off every mount of the allocation; logs, data and local stay. */
  unmountAll(): Promise<void>;
  /** Ends running reads, takes off mounts, deletes the tree. A second call resolves. */
  destroy(): Promise<void>;
}
