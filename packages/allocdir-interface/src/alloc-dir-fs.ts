import type { Writable } from "node:stream";

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

/** What became of a watched file: it has more or other content, it has become shorter, or its name means it no longer. @public */
export type FileChange = "modified" | "truncated" | "deleted";

/** What a snapshot holds. @public */
export interface SnapshotReport {
  /** Entries in the archive, directories and links included. */
  readonly entries: number;
  /** Bytes of content, headers and padding not counted. */
  readonly bytes: number;
  /** What was left out: fifos, sockets, devices, names that cannot be written, and what vanished meanwhile. */
  readonly skipped: number;
  /** The first of what was left out, relative to the allocation, with the reason. */
  readonly skippedPaths: readonly { readonly path: string; readonly reason: SkipReason }[];
}

/** Why a snapshot or a move leaves something out. @public */
export type SkipReason = "fifo" | "socket" | "device" | "link" | "vanished" | "name";

/**
 * Reading below an allocation directory. Paths are relative to it and untrusted: nothing outside of the allocation and
 * nothing in a task's `secrets` or `private` is reachable, whatever links or renames the task makes meanwhile. @public
 */
export interface AllocDirFS {
  /** Entries sorted by name; links are not followed. */
  list(path: string): Promise<AllocFileInfo[]>;
  stat(path: string): Promise<AllocFileInfo>;
  /**
   * Opens a regular file at an offset in bytes; beyond the end is legal. The caller closes it; it also ends with the signal. After
   * `limit` bytes (0 or absent: none) it reads as if the file ended there.
   */
  readAt(
    path: string,
    offset: number | bigint,
    options?: { readonly limit?: number; readonly signal?: AbortSignal },
  ): Promise<FileReader>;
  /** Identity and size of what a path means now; undefined if there is nothing. */
  identify(path: string): Promise<{ readonly identity: string; readonly size: number } | undefined>;
  /**
   * Writes `alloc/data` and each registered task's `local` as a tar archive and ends the stream. Nothing but directories, regular
   * files and links goes in; a failure is told by a last entry `NOMAD-<alloc id>-ERROR.log`, and rejects. After an abort the stream is
   * destroyed: such an archive has no end.
   */
  snapshot(out: Writable, options?: { readonly signal?: AbortSignal }): Promise<SnapshotReport>;
  /** Resolves once there is something at the path; waits for missing parents, too. Rejects with the signal's reason. */
  blockUntilExists(path: string, options: { readonly signal: AbortSignal }): Promise<void>;
  /**
   * What happens to a file that exists, until it is deleted or replaced, or the signal (which throws its reason). `curOffset` is the size known
   * to the caller. The first event comes at once. Events that nobody took meanwhile are told once. Works for directories, too.
   */
  changeEvents(path: string, curOffset: number, options: { readonly signal: AbortSignal }): AsyncIterable<FileChange>;
}
