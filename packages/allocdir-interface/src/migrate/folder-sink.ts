import { constants } from "node:fs";
import { lchown, lutimes, mkdir, open, symlink, unlink, type FileHandle } from "node:fs/promises";
import { AllocDirError, systemError } from "../alloc-dir-error.ts";
import type { UnpackedEntry, UnpackSink } from "./unpack.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/** Who gets what was unpacked: nobody but the process, or as root those the archive names. */
export interface FolderSinkOptions {
  /** Gives files to the users of the archive; only root can. User 0 is taken for the process itself unless `keepRoot`. */
  readonly owners: boolean;
  readonly keepRoot?: boolean;
}

const codeOf = (reason: unknown): string => (reason as NodeJS.ErrnoException).code ?? "";

/**
 * Writes entries below a directory. Each part of a name is opened from the descriptor of the one before and never followed, so that no
 * link, of the archive's or of anybody's, leads a write elsewhere.
 */
export class FolderSink implements UnpackSink, AsyncDisposable {
  readonly #root: FileHandle;
  readonly #o: FolderSinkOptions;
  /** The way to the parent of the last entry: the next one mostly shares it. */
  #way: { readonly part: string; readonly handle: FileHandle }[] = [];
  /** Directories get their modes at the end, so that a closed one does not keep its own content out. */
  readonly #directories: UnpackedEntry[] = [];

  private constructor(root: FileHandle, o: FolderSinkOptions) {
    this.#root = root;
    this.#o = o;
  }

  static async open(path: string, o: FolderSinkOptions): Promise<FolderSink> {
    return new FolderSink(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), o);
  }

  directory(entry: UnpackedEntry): Promise<void> {
    return this.#guarded(entry, async () => {
      await this.#enter(entry.parts);
      this.#directories.push(entry);
    });
  }

  file(entry: UnpackedEntry, size: number, content: () => Promise<Uint8Array | undefined>): Promise<void> {
    return this.#guarded(entry, async () => {
      const path = await this.#clear(entry.parts);
      await using file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      for (let some = await content(); some !== undefined; some = await content()) await writeAll(file, some);
      await this.#give(entry, (uid, gid) => file.chown(uid, gid));
      // After the owner: a change of owner takes bits away.
      await file.chmod(entry.mode);
      await file.utimes(entry.mtime, entry.mtime);
    });
  }

  symlink(entry: UnpackedEntry, target: string): Promise<void> {
    return this.#guarded(entry, async () => {
      const path = await this.#clear(entry.parts);
      await symlink(target, path);
      await this.#give(entry, (uid, gid) => lchown(path, uid, gid));
      await lutimes(path, entry.mtime, entry.mtime);
    });
  }

  /** Gives the directories their modes, the innermost first. */
  async finish(): Promise<void> {
    for (const entry of this.#directories.reverse()) {
      await this.#guarded(entry, async () => {
        const handle = await this.#enter(entry.parts);
        await this.#give(entry, (uid, gid) => handle.chown(uid, gid));
        await handle.chmod(entry.mode);
        await handle.utimes(entry.mtime, entry.mtime);
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leave(0);
    await this.#root.close();
  }

  async #guarded(entry: UnpackedEntry, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (reason) {
      throw systemError(reason, entry.parts.join("/"));
    }
  }

  async #give(entry: UnpackedEntry, chown: (uid: number, gid: number) => Promise<void>): Promise<void> {
    if (!this.#o.owners || (entry.uid === 0 && this.#o.keepRoot !== true)) return;
    await chown(entry.uid, entry.gid);
  }

  /** The directory of this name, made with all on the way to it where it is missing. */
  async #enter(parts: readonly string[]): Promise<FileHandle> {
    let shared = 0;
    while (shared < this.#way.length && shared < parts.length && this.#way[shared]?.part === parts[shared]) shared++;
    await this.#leave(shared);
    for (const part of parts.slice(shared)) {
      const path = `/proc/self/fd/${this.#here.fd}/${part}`;
      await mkdir(path, { mode: 0o700 }).catch((reason: unknown) => {
        if (codeOf(reason) !== "EEXIST") throw reason;
      });
      this.#way.push({ part, handle: await this.#openDirectory(path, parts) });
    }
    return this.#here;
  }

  async #openDirectory(path: string, parts: readonly string[]): Promise<FileHandle> {
    try {
      return await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    } catch (reason) {
      if (codeOf(reason) !== "ENOTDIR" && codeOf(reason) !== "ELOOP") throw reason;
      const name = JSON.stringify(parts.join("/").slice(0, 200));
      throw new AllocDirError(
        "ARCHIVE_ESCAPE",
        `archive contains object that escapes alloc dir: ${name} by way of what is no directory`,
        "",
      );
    }
  }

  get #here(): FileHandle {
    return this.#way.at(-1)?.handle ?? this.#root;
  }

  async #leave(depth: number): Promise<void> {
    for (const { handle } of this.#way.splice(depth).reverse()) await handle.close();
  }

  /** Takes away what has the name, if it is no directory, and gives the path to make something new. */
  async #clear(parts: readonly string[]): Promise<string> {
    const parent = await this.#enter(parts.slice(0, -1));
    const path = `/proc/self/fd/${parent.fd}/${parts.at(-1) ?? ""}`;
    await unlink(path).catch((reason: unknown) => {
      if (codeOf(reason) !== "ENOENT") throw reason;
    });
    return path;
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += (await file.write(bytes, at)).bytesWritten;
}
