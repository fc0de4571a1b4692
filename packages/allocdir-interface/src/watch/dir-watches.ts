import { watch, type BigIntStats, type FSWatcher } from "node:fs";
import { statfs } from "node:fs/promises";
import type { ChangeHint } from "./watch-hub.ts";

/** Directories a process watches at most; beyond, paths are polled. The kernel's own limit is shared with all processes of the user. */
export const MAX_WATCHES = 256;

/** File systems on which others change files without the kernel here hearing of it: NFS, CIFS, SMB 2, 9p, FUSE, AFS, Ceph. */
const DEAF = new Set([0x6969, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546, 0x5346414f, 0x00c36400]);

interface Listener {
  /** The entry it cares for; undefined for all. */
  readonly name: string | undefined;
  readonly wake: () => void;
}

interface Watch {
  readonly watcher: FSWatcher;
  readonly listeners: Set<Listener>;
  alive: boolean;
}

/** Watches of directories by the kernel, one for each however many listen. */
export class DirWatches {
  readonly #watches = new Map<string, Watch>();
  readonly #most: number;

  constructor(most: number = MAX_WATCHES) {
    this.#most = most;
  }

  /** Directories watched now. */
  get size(): number {
    return this.#watches.size;
  }

  /**
   * Listens to a directory, reached by a path that is valid during the call; undefined where the kernel cannot tell: too many watches,
   * or a file system of others.
   */
  async listen(
    path: string,
    stats: BigIntStats,
    name: string | undefined,
    wake: () => void,
  ): Promise<ChangeHint | undefined> {
    const key = `${stats.dev}:${stats.ino}`;
    const found = this.#watches.get(key) ?? (await this.#open(key, path));
    if (found === undefined) return undefined;
    const listener = { name, wake };
    found.listeners.add(listener);
    return {
      get alive() {
        return found.alive;
      },
      [Symbol.dispose]: () => {
        found.listeners.delete(listener);
        if (found.listeners.size === 0) this.#close(key, found);
      },
    };
  }

  async #open(key: string, path: string): Promise<Watch | undefined> {
    try {
      if (DEAF.has((await statfs(path)).type)) return undefined;
      // Somebody else may have come first during the wait.
      const known = this.#watches.get(key);
      if (known !== undefined) return known;
      if (this.#watches.size >= this.#most) return undefined;
      const watcher = watch(path, { persistent: false }, (_kind, changed) => {
        for (const listener of made.listeners) {
          if (listener.name === undefined || changed === null || listener.name === changed) listener.wake();
        }
      });
      const made: Watch = { watcher, listeners: new Set(), alive: true };
      watcher.on("error", () => {
        this.#close(key, made);
        for (const listener of made.listeners) listener.wake();
      });
      this.#watches.set(key, made);
      return made;
    } catch {
      // No watch is to be had: the path is polled.
      return undefined;
    }
  }

  #close(key: string, found: Watch): void {
    if (!found.alive) return;
    found.alive = false;
    this.#watches.delete(key);
    found.watcher.close();
  }
}

/** The watches of this process. */
export const dirWatches = new DirWatches();
