/** How much fits into a tree. @public */
export interface MemoryLimits {
  /** Bytes of content of all files. Default: no limit. */
  readonly maxBytes?: number;
  /** Files, folders and links. Default: no limit. */
  readonly maxEntries?: number;
}

/**
 * What the tasks of an allocation do to its files: the disk of an allocation that has none. Paths are those of the file API; failures are
 * AllocDirError with the texts of a disk's. @public
 */
export interface MemoryFiles {
  /** Nothing can be changed while this is set, as on a read-only disk. */
  readOnly: boolean;
  /** May be changed at any time; what is there stays. */
  limits: MemoryLimits;
  /** Makes a folder and those on the way. */
  mkdir(path: string): void;
  /** Makes a file, or replaces the content of one. */
  write(path: string, data: string | Uint8Array): void;
  /** Adds to a file, which is made if need be. */
  append(path: string, data: string | Uint8Array): void;
  /** Cuts a file, or fills it up with zeros. */
  truncate(path: string, size: number): void;
  /** Makes a link; where it leads is not looked at. */
  symlink(target: string, path: string): void;
  /** Gives a file a second name. */
  link(existing: string, path: string): void;
  mkfifo(path: string): void;
  /** Both ends of a fifo; `take` gives what is in it, and empties it. */
  openFifo(path: string): { write(text: string): void; take(): string; close(): void };
  /** Leaves a Unix socket at a path. */
  socket(path: string): void;
  /** Gives another name, replacing a file that has it. */
  rename(from: string, to: string): void;
  /** Deletes a file or a whole folder; nothing there is fine. `/` takes everything away. */
  remove(path: string): void;
  chmod(path: string, mode: number): void;
  chown(path: string, uid: number, gid: number): void;
  /** Sets the time of the last change, epoch ms. */
  touch(path: string, ms: number): void;
  /** Content of a file, or undefined if there is none. Secrets as well: this is not the file API. */
  read(path: string): string | undefined;
  /** Whether there is anything at the path; a link counts by itself. */
  exists(path: string): boolean;
  owner(path: string): { readonly uid: number; readonly gid: number };
}
