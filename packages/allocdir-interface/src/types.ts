import type { AllocDirFS } from "./alloc-dir-fs.ts";

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
  /** Makes the directories; may be called again: modes are set anew, content is kept. */
  build(options: { readonly isolation: Isolation }): Promise<void>;
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
  /** Registers a task; its directories appear by `build` of the result. Throws AllocDirError BAD_NAME. */
  newTaskDir(task: TaskDirOptions): TaskDir;
  getTaskDir(name: string): TaskDir | undefined;
  /** Makes the allocation's own directories. Idempotent; works again after `destroy`. */
  build(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Takes off every mount of the allocation; logs, data and local stay. */
  unmountAll(): Promise<void>;
  /** Ends running reads, takes off mounts, deletes the tree. A second call resolves. */
  destroy(): Promise<void>;
}
