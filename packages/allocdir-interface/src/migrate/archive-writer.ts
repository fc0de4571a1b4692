import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Dirent,
  type Stats,
} from "node:fs";
import { AllocDirError, systemError } from "../alloc-dir-error.ts";
import type { SkipReason, SnapshotReport } from "../alloc-dir-fs.ts";
import { ChunkWriter, type ChunkSink } from "./chunk-writer.ts";
import { ProtectedFiles, type Anchor } from "./protected-files.ts";
import { encodeHeader, errorEntry, TRAILER_BYTES, type TarHeader } from "./tar-format.ts";
import { readAccounts, type Accounts } from "./accounts.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_RDONLY } = constants;

/** Levels of directories in an archive. */
export const MAX_DEPTH = 128;
/** Longest name in an archive, bytes. */
export const MAX_NAME_BYTES = 4096;
/** So many of the things left out are named in a report. */
export const MAX_SKIPPED_PATHS = 100;

/** A directory that goes into an archive. */
export interface ArchiveRoot extends Anchor {
  /** What it is called there: `alloc/data`, `web/local`. */
  readonly name: string;
}

/** What an archive is made of; plain, so that it can be sent to a worker. */
export interface ArchiveRequest {
  readonly allocId: string;
  /** In their order; missing ones are left out. */
  readonly roots: readonly ArchiveRoot[];
  /** Directories nothing of which may get in, by whatever name. */
  readonly secrets: readonly Anchor[];
  /** Directories of tasks: their `secrets` and `private` are protected likewise, registered or not. */
  readonly taskParents: readonly string[];
}

const codeOf = (reason: unknown): string => (reason as NodeJS.ErrnoException).code ?? "";

/**
 * Writes a snapshot in one go, blocking: made for a worker. Anchored in descriptors, so that nothing the tasks rename meanwhile leads
 * elsewhere. A failure is told by the archive's last entry, and thrown.
 */
export function writeArchive(request: ArchiveRequest, sink: ChunkSink): SnapshotReport {
  return new ArchiveWriter(request, sink).run();
}

class ArchiveWriter {
  readonly #request: ArchiveRequest;
  readonly #out: ChunkWriter;
  readonly #secrets: ProtectedFiles;
  readonly #accounts: Accounts;
  readonly #skippedPaths: { path: string; reason: SkipReason }[] = [];
  #skipped = 0;
  #entries = 0;
  #bytes = 0;

  constructor(request: ArchiveRequest, sink: ChunkSink) {
    this.#request = request;
    this.#out = new ChunkWriter(sink);
    this.#secrets = new ProtectedFiles(request.secrets, request.taskParents);
    this.#accounts = readAccounts();
  }

  run(): SnapshotReport {
    let failure: unknown;
    try {
      for (const root of this.#request.roots) this.#root(root);
    } catch (reason) {
      failure = reason;
      this.#out.write(errorEntry(this.#request.allocId, (reason as Error).message));
    }
    this.#out.zeros(TRAILER_BYTES);
    this.#out.flush();
    if (failure !== undefined) throw failure;
    return {
      entries: this.#entries,
      bytes: this.#bytes,
      skipped: this.#skipped,
      skippedPaths: this.#skippedPaths,
    };
  }

  #root(root: ArchiveRoot): void {
    let fd: number;
    try {
      fd = openAnchor(root);
    } catch (reason) {
      if (codeOf(reason) === "ENOENT") return;
      // The task put something else in its place.
      if (["ENOTDIR", "ELOOP"].includes(codeOf(reason))) return this.#skip(root.name, "link");
      throw systemError(reason, root.name);
    }
    try {
      this.#directory(fd, root.name, 1);
    } finally {
      closeSync(fd);
    }
  }

  #directory(fd: number, name: string, depth: number): void {
    const stats = fstatSync(fd);
    if (this.#secrets.isDirectory(fd)) return this.#skip(name, "link");
    if (depth > MAX_DEPTH) {
      throw new AllocDirError(
        "ARCHIVE_LIMIT",
        `${JSON.stringify(short(name))} is nested deeper than ${MAX_DEPTH}`,
        short(name),
      );
    }
    this.#header(name, "directory", stats, 0, "");
    const base = `/proc/self/fd/${fd}`;
    const entries = readdirSync(base, { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) this.#entry(base, entry, `${name}/${entry.name}`, depth);
  }

  #entry(base: string, entry: Dirent, name: string, depth: number): void {
    if (name.length > MAX_NAME_BYTES / 4 && Buffer.byteLength(name) > MAX_NAME_BYTES) {
      throw new AllocDirError(
        "ARCHIVE_LIMIT",
        `${JSON.stringify(short(name))}… is longer than ${MAX_NAME_BYTES} bytes`,
        short(name),
      );
    }
    const path = `${base}/${entry.name}`;
    try {
      const kind = kindOf(entry, path);
      if (kind === "directory") this.#inner(path, name, depth);
      else if (kind === "file") this.#file(path, name);
      else if (kind === "symlink") this.#link(path, name);
      else this.#skip(name, kind);
    } catch (reason) {
      const code = codeOf(reason);
      // Gone since the directory was read, or another thing by now; a name that is no text cannot be asked for at all.
      if (code === "ENOENT") return this.#skip(name, entry.name.includes("\ufffd") ? "name" : "vanished");
      if (code === "ELOOP" || code === "ENOTDIR" || code === "EINVAL" || code === "ENXIO")
        return this.#skip(name, "vanished");
      throw systemError(reason, name);
    }
  }

  #inner(path: string, name: string, depth: number): void {
    const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      this.#directory(fd, name, depth + 1);
    } finally {
      closeSync(fd);
    }
  }

  #file(path: string, name: string): void {
    const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile()) return this.#skip(name, "vanished");
      if (stats.nlink > 1 && this.#secrets.holds(fd)) return this.#skip(name, "link");
      this.#header(name, "file", stats, stats.size, "");
      const read = this.#out.copy(fd, stats.size);
      this.#bytes += read;
      if (read < stats.size) {
        throw new AllocDirError("IO", `${JSON.stringify(name)} became shorter while it was read`, name);
      }
    } finally {
      closeSync(fd);
    }
  }

  #link(path: string, name: string): void {
    const stats = lstatSync(path);
    const target = readlinkSync(path);
    this.#header(name, "symlink", stats, 0, target);
  }

  #header(name: string, type: TarHeader["type"], stats: Stats, size: number, linkname: string): void {
    const { uid, gid } = stats;
    this.#entries++;
    this.#out.write(
      encodeHeader({
        name,
        type,
        mode: type === "symlink" ? 0o777 : stats.mode,
        uid,
        gid,
        uname: this.#accounts.users.get(uid) ?? "",
        gname: this.#accounts.groups.get(gid) ?? "",
        size,
        mtime: Math.floor(stats.mtimeMs / 1000),
        linkname,
      }),
    );
  }

  #skip(path: string, reason: SkipReason): void {
    this.#skipped++;
    if (this.#skippedPaths.length < MAX_SKIPPED_PATHS) this.#skippedPaths.push({ path: short(path), reason });
  }
}

const short = (name: string): string => name.slice(0, 200);

/** The kind of an entry as the directory tells it; some file systems leave that to lstat. */
function kindOf(entry: Dirent, path: string): "file" | "directory" | "symlink" | SkipReason {
  const known = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink() || entry.isFIFO() || entry.isSocket();
  const what = known ? entry : lstatSync(path);
  if (what.isFile()) return "file";
  if (what.isDirectory()) return "directory";
  if (what.isSymbolicLink()) return "symlink";
  if (what.isFIFO()) return "fifo";
  return what.isSocket() ? "socket" : "device";
}

/** Opens a directory below a trusted one without following a link on the way. */
export function openAnchor(anchor: Anchor): number {
  let fd = openSync(anchor.base, O_RDONLY | O_DIRECTORY);
  for (const part of anchor.below) {
    const parent = fd;
    try {
      fd = openSync(`/proc/self/fd/${parent}/${part}`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    } finally {
      closeSync(parent);
    }
  }
  return fd;
}
