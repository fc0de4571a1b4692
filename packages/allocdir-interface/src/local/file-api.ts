import type { FileHandle } from "node:fs/promises";
import { AllocDirError } from "../alloc-dir-error.ts";
import type { AllocDirFS, AllocFileInfo, FileReader } from "../alloc-dir-fs.ts";
import { sniffContentType } from "../content-type.ts";
import { fileMode, modTime } from "../file-mode.ts";
import { Forbidden } from "../forbidden.ts";
import { SafeRoot, type SafePlace } from "../safe-root.ts";
import type { BigIntStats } from "node:fs";

const SNIFF_BYTES = 512;

const info = (name: string, stats: BigIntStats, contentType = ""): AllocFileInfo => ({
  Name: name,
  IsDir: stats.isDirectory(),
  Size: Number(stats.size),
  FileMode: fileMode(stats),
  ModTime: modTime(stats.mtimeNs),
  ContentType: contentType,
});

const identityOf = (stats: BigIntStats): string => `${stats.dev}:${stats.ino}`;

class HandleReader implements FileReader {
  readonly identity: string;
  #position: number;
  #handle: FileHandle | undefined;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => void this.close();

  constructor(handle: FileHandle, stats: BigIntStats, offset: number, signal: AbortSignal) {
    this.#handle = handle;
    this.identity = identityOf(stats);
    this.#position = offset;
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  get position(): number {
    return this.#position;
  }

  #open(): FileHandle {
    this.#signal.throwIfAborted();
    if (this.#handle === undefined) throw new AllocDirError("IO", "the file reader is closed", "");
    return this.#handle;
  }

  async read(max: number): Promise<Uint8Array> {
    const buffer = Buffer.allocUnsafe(max);
    const { bytesRead } = await this.#open().read(buffer, 0, max, this.#position);
    this.#position += bytesRead;
    return buffer.subarray(0, bytesRead);
  }

  async size(): Promise<number> {
    return Number((await this.#open().stat({ bigint: true })).size);
  }

  async close(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#onAbort);
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The file API on a real directory. `root` opens it for one request; `ended` is aborted when the allocation is destroyed. */
export class LocalFileApi implements AllocDirFS {
  readonly #path: string;
  readonly #ended: () => AbortSignal;

  constructor(path: string, ended: () => AbortSignal) {
    this.#path = path;
    this.#ended = ended;
  }

  async #within<T>(
    path: string,
    follow: boolean,
    use: (root: SafeRoot, place: SafePlace, forbidden: Forbidden) => Promise<T>,
  ): Promise<T> {
    this.#ended().throwIfAborted();
    let root: SafeRoot;
    try {
      root = await SafeRoot.open(this.#path);
    } catch (cause) {
      throw new AllocDirError("NOT_BUILT", `${JSON.stringify(path)}: no such file or directory`, path, { cause });
    }
    try {
      const forbidden = await Forbidden.of(root);
      return await root.at(path, { follow, enter: forbidden.enter }, (place) => use(root, place, forbidden));
    } finally {
      await root.close();
    }
  }

  list(path: string): Promise<AllocFileInfo[]> {
    return this.#within(path, true, async (root, place, forbidden) => {
      if (!place.stats.isDirectory())
        throw new AllocDirError("NOT_DIRECTORY", `${JSON.stringify(path)}: not a directory`, path);
      forbidden.enter(place.stats, path);
      const entries: AllocFileInfo[] = [];
      for (const name of await root.names(place)) {
        const stats = await root.entry(place, name);
        if (stats !== undefined) entries.push(info(name, stats));
      }
      return entries.sort((a, b) => Buffer.compare(Buffer.from(a.Name), Buffer.from(b.Name)));
    });
  }

  stat(path: string): Promise<AllocFileInfo> {
    return this.#within(path, true, async (root, place, forbidden) => {
      const name = place.path.slice(place.path.lastIndexOf("/") + 1) || "/";
      if (!place.stats.isFile())
        return info(name, place.stats, name.endsWith(".json") ? "application/json" : "application/octet-stream");
      await forbidden.checkLinks(root, place.stats, path);
      const file = await root.openFile(place);
      try {
        const head = Buffer.alloc(SNIFF_BYTES);
        const { bytesRead } = await file.read(head, 0, SNIFF_BYTES, 0);
        return info(name, place.stats, sniffContentType(name, head.subarray(0, bytesRead)));
      } finally {
        await file.close();
      }
    });
  }

  readAt(path: string, offset: number): Promise<FileReader> {
    if (!Number.isSafeInteger(offset) || offset < 0) {
      return Promise.reject(
        new AllocDirError("SEEK", `can't seek to offset ${offset}`, path, { details: { offset: String(offset) } }),
      );
    }
    return this.#within(path, true, async (root, place, forbidden) => {
      if (place.stats.isDirectory())
        throw new AllocDirError("IS_DIRECTORY", `file ${JSON.stringify(path)} is a directory`, path);
      if (!place.stats.isFile())
        throw new AllocDirError("NOT_REGULAR", `${JSON.stringify(path)} is not a regular file`, path);
      await forbidden.checkLinks(root, place.stats, path);
      return new HandleReader(await root.openFile(place), place.stats, offset, this.#ended());
    });
  }

  async identify(path: string): Promise<{ identity: string; size: number } | undefined> {
    try {
      return await this.#within(path, true, (_root, place) =>
        Promise.resolve({ identity: identityOf(place.stats), size: Number(place.stats.size) }),
      );
    } catch (reason) {
      if (reason instanceof AllocDirError && reason.code === "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND") return undefined;
      throw reason;
    }
  }
}
