import { constants, type BigIntStats } from "node:fs";
import { open, readdir, readlink, type FileHandle } from "node:fs/promises";
import { AllocDirError, systemError } from "./alloc-dir-error.ts";

/** Linux flag that Node does not name: a descriptor that only marks a place, opened without side effect even on a fifo. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_NONBLOCK, O_NOCTTY } = constants;
const MAX_PATH = 4096;
const MAX_LINKS = 40;

/** A place below the root, held by descriptor. */
export interface SafePlace {
  readonly handle: FileHandle;
  readonly stats: BigIntStats;
  /** The canonical path below the root, links resolved; empty for the root. */
  readonly path: string;
}

/** Says whether a directory may be entered; throws if not. */
export type EnterCheck = (stats: BigIntStats, requested: string) => void;

/** Splits a requested path; `..` above the root is an escape, `..foo` an ordinary name. */
export function segmentsOf(path: string, requested: string): string[] {
  if (
    path.length > MAX_PATH ||
    path.includes("\0") ||
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(path)
  ) {
    throw new AllocDirError(
      "BAD_PATH",
      `path of ${path.length} characters is not a valid path`,
      requested.slice(0, 200),
    );
  }
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

const escapes = (requested: string): AllocDirError =>
  new AllocDirError("PATH_ESCAPES", `Path escapes the alloc directory: ${JSON.stringify(requested)}`, requested);

/**
 * Resolves untrusted paths below a directory, one component at a time from an open descriptor, so that nothing a task does
 * to names meanwhile leads outside. Links are followed inside the root only.
 */
export class SafeRoot {
  readonly #root: FileHandle;
  readonly #grafts: ReadonlyMap<string, string>;

  private constructor(root: FileHandle, grafts: ReadonlyMap<string, string>) {
    this.#root = root;
    this.#grafts = grafts;
  }

  /** `grafts` are directories that count as entries of the root though they lie elsewhere; the ways to them are trusted. */
  static async open(path: string, grafts: ReadonlyMap<string, string> = new Map()): Promise<SafeRoot> {
    return new SafeRoot(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), grafts);
  }

  close(): Promise<void> {
    return this.#root.close();
  }

  /** Resolves a path and gives the place to `use`; every descriptor is closed afterwards. */
  async at<T>(
    requested: string,
    o: { readonly follow: boolean; readonly enter: EnterCheck },
    use: (place: SafePlace) => Promise<T>,
  ): Promise<T> {
    const open: FileHandle[] = [];
    try {
      return await use(await this.#walk(requested, o, open));
    } catch (reason) {
      throw systemError(reason, requested);
    } finally {
      await Promise.all(open.map((handle) => handle.close()));
    }
  }

  async #walk(
    requested: string,
    o: { readonly follow: boolean; readonly enter: EnterCheck },
    opened: FileHandle[],
  ): Promise<SafePlace> {
    const todo = segmentsOf(requested, requested).reverse();
    checkLexically(todo, requested);
    const stack: { handle: FileHandle; name: string }[] = [{ handle: this.#root, name: "" }];
    let place: SafePlace = { handle: this.#root, stats: await this.#root.stat({ bigint: true }), path: "" };
    let links = 0;
    for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
      if (name === "..") {
        if (stack.length === 1) throw escapes(requested);
        stack.pop();
        const top = stack.at(-1) as { handle: FileHandle };
        place = {
          handle: top.handle,
          stats: await top.handle.stat({ bigint: true }),
          path: stack
            .slice(1)
            .map((s) => s.name)
            .join("/"),
        };
        continue;
      }
      const dir = (stack.at(-1) as { handle: FileHandle }).handle;
      if (!place.stats.isDirectory()) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
      if (stack.length > 1) o.enter(place.stats, requested);
      const handle = await open(this.#child(dir, name), O_PATH | O_NOFOLLOW);
      opened.push(handle);
      const stats = await handle.stat({ bigint: true });
      if (stats.isSymbolicLink() && (o.follow || todo.length > 0)) {
        if (++links > MAX_LINKS) throw Object.assign(new Error("too many links"), { code: "ELOOP" });
        const target = await readlink(this.#child(dir, name)).catch((reason: unknown) => {
          // Exchanged for something else since it was looked at: look again, as often as links may be followed.
          if ((reason as NodeJS.ErrnoException).code === "EINVAL") return name;
          throw reason;
        });
        if (target.startsWith("/")) throw escapes(requested);
        todo.push(...segmentsOf(target, requested).reverse());
        // The link stands for its target, seen from the directory that holds it.
        place = {
          handle: dir,
          stats: await dir.stat({ bigint: true }),
          path: stack
            .slice(1)
            .map((s) => s.name)
            .join("/"),
        };
        continue;
      }
      place = { handle, stats, path: [...stack.slice(1).map((s) => s.name), name].join("/") };
      if (stats.isDirectory()) stack.push({ handle, name });
      else if (todo.length > 0) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
    }
    return place;
  }

  /** Names in a resolved directory. */
  async names(place: SafePlace): Promise<string[]> {
    const names = await readdir(`/proc/self/fd/${place.handle.fd}`);
    if (place.handle !== this.#root) return names;
    return [...new Set([...names, ...this.#grafts.keys()])];
  }

  /** The entry of a resolved directory, not followed; undefined if it has gone. */
  async entry(place: SafePlace, name: string): Promise<BigIntStats | undefined> {
    let handle: FileHandle;
    try {
      handle = await open(this.#child(place.handle, name), O_PATH | O_NOFOLLOW);
    } catch (reason) {
      if (["ENOENT", "ESTALE"].includes((reason as NodeJS.ErrnoException).code ?? "")) return undefined;
      throw reason;
    }
    try {
      return await handle.stat({ bigint: true });
    } finally {
      await handle.close();
    }
  }

  #child(dir: FileHandle, name: string): string {
    const graft = dir === this.#root ? this.#grafts.get(name) : undefined;
    return graft ?? `/proc/self/fd/${dir.fd}/${name}`;
  }

  /** Opens a resolved regular file for reading: the very file that was resolved, whatever its name means by now. */
  async openFile(place: SafePlace): Promise<FileHandle> {
    return open(`/proc/self/fd/${place.handle.fd}`, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  }
}

/** A request that leaves the root by its own dots is refused before any file is looked at. */
function checkLexically(reversed: readonly string[], requested: string): void {
  let depth = 0;
  for (let i = reversed.length - 1; i >= 0; i--) {
    depth += reversed[i] === ".." ? -1 : 1;
    if (depth < 0) throw escapes(requested);
  }
}
