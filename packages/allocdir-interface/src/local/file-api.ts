import { AllocDirError } from "../alloc-dir-error.ts";
import type { AllocDirFS, AllocFileInfo, FileChange, FileReader } from "../alloc-dir-fs.ts";
import { sniffContentType } from "../content-type.ts";
import { fileMode, modTime } from "../file-mode.ts";
import { Forbidden } from "../forbidden.ts";
import { HandleReader, identityOf } from "./handle-reader.ts";
import { SafeRoot, type SafePlace } from "../safe-root.ts";
import { dirWatches, type DirWatches } from "../watch/dir-watches.ts";
import { WatchHub, type ChangeHint, type Look } from "../watch/watch-hub.ts";
import type { Clock } from "@outrider/backoff";
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

/** What a {@link LocalFileApi} works on. */
export interface LocalFileApiOptions {
  /** The allocation's directory; opened for each request. */
  readonly path: string;
  /** Aborted when the allocation is destroyed. */
  readonly ended: () => AbortSignal;
  readonly clock?: Clock | undefined;
  /** Directories that belong below the root but lie elsewhere, by their names. */
  readonly grafts?: (() => ReadonlyMap<string, string>) | undefined;
  /** Default: those of the process. */
  readonly watches?: DirWatches;
}

/** The file API on a real directory. */
export class LocalFileApi implements Omit<AllocDirFS, "snapshot"> {
  readonly #path: string;
  readonly #ended: () => AbortSignal;
  readonly #watches: DirWatches;
  readonly #grafts: (() => ReadonlyMap<string, string>) | undefined;
  /** The paths that somebody follows. */
  readonly hub: WatchHub;

  constructor(o: LocalFileApiOptions) {
    this.#path = o.path;
    this.#ended = o.ended;
    this.#watches = o.watches ?? dirWatches;
    this.#grafts = o.grafts;
    this.hub = new WatchHub({
      look: (path) => this.#look(path),
      hint: (path, wake) => this.#hint(path, wake),
      clock: o.clock,
    });
  }

  async #within<T>(
    path: string,
    follow: boolean,
    use: (root: SafeRoot, place: SafePlace, forbidden: Forbidden) => Promise<T>,
  ): Promise<T> {
    this.#ended().throwIfAborted();
    let root: SafeRoot;
    try {
      root = await SafeRoot.open(this.#path, this.#grafts?.());
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

  async readAt(
    path: string,
    offset: number | bigint,
    o: { readonly limit?: number; readonly signal?: AbortSignal } = {},
  ): Promise<FileReader> {
    o.signal?.throwIfAborted();
    const from = Number(offset);
    if (!Number.isSafeInteger(from) || from < 0) {
      throw new AllocDirError("SEEK", `can't seek to offset ${offset}`, path, { details: { offset: String(offset) } });
    }
    const limit = o.limit !== undefined && o.limit > 0 ? o.limit : Number.POSITIVE_INFINITY;
    return this.#within(path, true, async (root, place, forbidden) => {
      if (place.stats.isDirectory())
        throw new AllocDirError("IS_DIRECTORY", `file ${JSON.stringify(path)} is a directory`, path);
      if (!place.stats.isFile())
        throw new AllocDirError("NOT_REGULAR", `${JSON.stringify(path)} is not a regular file`, path);
      await forbidden.checkLinks(root, place.stats, path);
      const handle = await root.openFile(place);
      const signals = o.signal === undefined ? [this.#ended()] : [this.#ended(), o.signal];
      return new HandleReader({ handle, stats: place.stats, offset: from, limit, signals });
    });
  }

  async identify(path: string): Promise<{ identity: string; size: number } | undefined> {
    const look = await this.#look(path);
    return look && { identity: look.identity, size: look.size };
  }

  changeEvents(path: string, curOffset: number, o: { readonly signal: AbortSignal }): AsyncIterable<FileChange> {
    return this.hub.changeEvents(path, curOffset, o);
  }

  blockUntilExists(path: string, o: { readonly signal: AbortSignal }): Promise<void> {
    return this.hub.blockUntilExists(path, o);
  }

  async #look(path: string): Promise<Look | undefined> {
    try {
      return await this.#within(path, true, (_root, place) =>
        Promise.resolve({
          identity: identityOf(place.stats),
          size: Number(place.stats.size),
          mtimeNs: place.stats.mtimeNs,
        }),
      );
    } catch (reason) {
      if (reason instanceof AllocDirError && reason.code === "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND") return undefined;
      throw reason;
    }
  }

  /** The kernel tells of a directory and what is in it: a file is watched by way of the directory that holds it. */
  async #hint(path: string, wake: () => void): Promise<ChangeHint | undefined> {
    try {
      return await this.#within(path, true, async (root, place) => {
        if (place.stats.isDirectory()) return this.#listen(place, undefined, wake);
        const slash = place.path.lastIndexOf("/");
        const name = place.path.slice(slash + 1);
        return root.at(place.path.slice(0, Math.max(slash, 0)), { follow: false, enter: () => undefined }, (parent) =>
          this.#listen(parent, name, wake),
        );
      });
    } catch {
      // Whatever is wrong with the path, the look that follows says so.
      return undefined;
    }
  }

  #listen(dir: SafePlace, name: string | undefined, wake: () => void): Promise<ChangeHint | undefined> {
    return this.#watches.listen(`/proc/self/fd/${dir.handle.fd}`, dir.stats, name, wake);
  }
}
