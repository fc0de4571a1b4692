import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync } from "node:fs";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** A directory below a trusted one. */
export interface Anchor {
  /** Trusted: no task can exchange it or what leads to it. */
  readonly base: string;
  /** The way from there, part by part; no part may be a link. */
  readonly below: readonly string[];
}

/** Hard links are looked for in at most so many files; beyond, every file with a second name counts as protected. */
const MAX_FILES = 10_000;

const KINDS = ["secrets", "private"] as const;

const idOf = (stats: { readonly dev: bigint; readonly ino: bigint }): string => `${stats.dev}:${stats.ino}`;

/** The directories that no snapshot enters, and the files in them that may have a second name elsewhere. Blocking: made for a worker. */
export class ProtectedFiles {
  readonly #directories = new Map<string, Anchor>();
  #files: Set<string> | undefined;
  #tooMany = false;

  constructor(secrets: readonly Anchor[], taskParents: readonly string[]) {
    for (const anchor of secrets) this.#add(anchor);
    for (const base of taskParents) {
      for (const task of quietly(() => readdirSync(base)) ?? []) {
        for (const kind of KINDS) this.#add({ base, below: [task, kind] });
      }
    }
  }

  /** Whether an open directory is one of them. */
  isDirectory(fd: number): boolean {
    return this.#directories.size > 0 && this.#directories.has(idOf(fstatSync(fd, { bigint: true })));
  }

  /** Whether an open file lies in one of them. */
  holds(fd: number): boolean {
    if (this.#files === undefined) {
      this.#files = new Set();
      for (const anchor of this.#directories.values()) this.#scan(anchor);
    }
    return this.#tooMany || this.#files.has(idOf(fstatSync(fd, { bigint: true })));
  }

  #add(anchor: Anchor): void {
    const stats = quietly(() => lstatSync([anchor.base, ...anchor.below].join("/"), { bigint: true }));
    if (stats?.isDirectory() === true) this.#directories.set(idOf(stats), anchor);
  }

  #scan(anchor: Anchor): void {
    const queue = [[anchor.base, ...anchor.below].join("/")];
    for (let dir = queue.pop(); dir !== undefined; dir = queue.pop()) {
      const path = dir;
      const fd = quietly(() => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
      if (fd === undefined) continue;
      for (const name of quietly(() => readdirSync(`/proc/self/fd/${fd}`)) ?? []) {
        const stats = quietly(() => lstatSync(`/proc/self/fd/${fd}/${name}`, { bigint: true }));
        if (stats?.isDirectory() === true) queue.push(`${path}/${name}`);
        else if (stats !== undefined) this.#files?.add(idOf(stats));
      }
      closeSync(fd);
      if ((this.#files?.size ?? 0) > MAX_FILES) this.#tooMany = true;
      if (this.#tooMany) return;
    }
  }
}

/** What went away, or may not be read, protects nothing. */
function quietly<T>(fn: () => T): T | undefined {
  try {
    return fn();
  } catch {
    return undefined;
  }
}
