import type { Clock } from "@outrider/backoff";
import type { Mounter } from "../mounter.ts";
import type { AllocDir, Isolation, TaskDir } from "../types.ts";

type Awaitable<T> = T | Promise<T>;

/** A fifo as the two processes at its ends see it. @public */
export interface FifoEnds {
  write(text: string): void;
  /** What is in the pipe now, taken out. */
  take(): string;
  close(): void;
}

/**
 * What a task does to its own tree, and a look at it past the file API. Paths are those of the file API: `web/local/x`. @public
 */
export interface TaskHands {
  /** Makes a folder and those on the way. */
  mkdir(path: string): Awaitable<void>;
  /** Makes or replaces a file's content. */
  write(path: string, data: string | Uint8Array): Awaitable<void>;
  append(path: string, data: string | Uint8Array): Awaitable<void>;
  truncate(path: string, size: number): Awaitable<void>;
  symlink(target: string, path: string): Awaitable<void>;
  link(existing: string, path: string): Awaitable<void>;
  rename(from: string, to: string): Awaitable<void>;
  /** Deletes a file or a whole folder; nothing there is fine. */
  remove(path: string): Awaitable<void>;
  chmod(path: string, mode: number): Awaitable<void>;
  /** Sets the time of the last change, in ms. */
  touch(path: string, ms: number): Awaitable<void>;
  mkfifo(path: string): Awaitable<void>;
  openFifo(path: string): Awaitable<FifoEnds>;
  /** Leaves a Unix socket at a path. */
  socket(path: string): Awaitable<void>;
  /** Content of a file, or undefined if there is none. */
  read(path: string): Awaitable<string | undefined>;
  /** Whether there is anything at the path; links are not followed. */
  exists(path: string): Awaitable<boolean>;
  /** Owner of what is at the path. */
  owner(path: string): Awaitable<{ readonly uid: number; readonly gid: number }>;
}

/** What a case wants made. @public */
export interface ConformanceContext {
  readonly allocId: string;
  /** A fresh folder for the allocation; may be ignored. */
  readonly root: string;
  /** A fresh folder for mounts; may be ignored. */
  readonly mountsRoot: string;
  /** To be used for every wait: runs faster than real time. */
  readonly clock: Clock;
  /** To be used in place of an own one, if given. */
  readonly mounter?: Mounter;
}

/** An allocation directory with its hands. @public */
export interface AllocDirUnderTest {
  readonly alloc: AllocDir;
  readonly hands: TaskHands;
  /** What is left of the allocation anywhere; default: what is in the two folders, and mounts below them. */
  leftovers?(): Awaitable<readonly string[]>;
  /** Where a task sees its folders with isolation `unveil`, as a path on this machine. */
  readonly view?: (task: TaskDir) => { readonly dir: string; readonly alloc: string; readonly secrets: string };
}

/** What an implementation can do. A declared capability makes its cases mandatory; cases of others are reported as skipped. @public */
export interface ConformanceCapabilities {
  /** Files have modes. */
  readonly posixModes?: boolean;
  /** Runs as root and gives folders to others. */
  readonly chown?: boolean;
  /** Modes do not depend on the process's umask: the suite changes it for the whole process. */
  readonly umask?: boolean;
  readonly symlinks?: boolean;
  readonly hardLinks?: boolean;
  readonly fifos?: boolean;
  readonly sockets?: boolean;
  /** No exchange of names during a call leads outside. */
  readonly raceFree?: boolean;
  /** `secrets` and `private` are mounts of their own, made by the mounter. */
  readonly tmpfsSecrets?: boolean;
  /** `unveil` is made of bind mounts. */
  readonly bindMounts?: boolean;
  /** A second object for the same allocation finds what the first made. */
  readonly persistent?: boolean;
  /** Paths of this machine lead to the files. */
  readonly onDisk?: boolean;
  /** Isolation modes that `TaskDir.build` takes; the first one is used by most cases. */
  readonly isolation: readonly [Isolation, ...Isolation[]];
}

/** Ways to break the disk below an implementation; each gives a way back. @public */
export interface ConformanceFaults {
  /** Nothing can be written below the folders from now on. */
  readOnly?(place: AllocDirUnderTest, ctx: ConformanceContext): Awaitable<() => Awaitable<void>>;
  /** The disk has room for some entries, but not for an allocation. Called before `build`. */
  full?(place: AllocDirUnderTest, ctx: ConformanceContext): Awaitable<() => Awaitable<void>>;
  /** The whole allocation is taken away by somebody else. */
  vanish?(place: AllocDirUnderTest, ctx: ConformanceContext): Awaitable<void>;
}

/** An implementation, ready to be tried. @public */
export interface AllocDirSubject {
  readonly name: string;
  readonly capabilities: ConformanceCapabilities;
  readonly faults?: ConformanceFaults;
  /** Makes an allocation directory that is not built. Refuses a bad allocation id by an error. */
  create(ctx: ConformanceContext): Awaitable<AllocDirUnderTest>;
}
