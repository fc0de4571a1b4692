/** What the file API tells of an entry; the keys are those of Nomad's JSON. @public */
export interface AllocFileInfo {
  readonly Name: string;
  readonly IsDir: boolean;
  readonly Size: number;
  /** Go's text of a mode: `-rw-r--r--`, `drwxrwxrwx`, `Lrwxrwxrwx`. */
  readonly FileMode: string;
  /** RFC 3339 with nanoseconds. */
  readonly ModTime: string;
  /** Sniffed by `stat` for regular files; empty in lists. */
  readonly ContentType: string;
}

/** An open regular file. @public */
export interface FileReader extends AsyncDisposable {
  /** The next bytes, at most `max`; an empty array at the end of what is there now. */
  read(max: number): Promise<Uint8Array>;
  /** Where the next read starts. */
  readonly position: number;
  /** Size now, also of a file that has lost its name. */
  size(): Promise<number>;
  /** Identity of the file, to notice that a name has come to mean another one. */
  readonly identity: string;
  close(): Promise<void>;
}

/**
 * Reading below an allocation directory. Paths are relative to it and untrusted: nothing outside of the allocation and
 * nothing in a task's `secrets` or `private` is reachable, whatever links or renames the task makes meanwhile. @public
 */
export interface AllocDirFS {
  /** Entries sorted by name; links are not followed. */
  list(path: string): Promise<AllocFileInfo[]>;
  stat(path: string): Promise<AllocFileInfo>;
  /** Opens a regular file at an offset in bytes; beyond the end is legal. The caller closes it. */
  readAt(path: string, offset: number): Promise<FileReader>;
  /** Identity and size of what a path means now; undefined if there is nothing. */
  identify(path: string): Promise<{ readonly identity: string; readonly size: number } | undefined>;
}
