/**
 * Files that are used again instead of being removed and made anew.
 *
 * ext4 does not hand out an inode number again for a minute or more after its removal and looks at each such number on every creation: where
 * many files come and go, making one costs 0.7 ms instead of 0.02. A rename has no such cost.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
} from "node:fs";
import { join } from "node:path";
import { errnoOf, listNames, unlinkQuietly, writeAll, writeFileAtomic } from "./files.ts";

/** Files kept; what comes beyond is removed. */
const MAX_SPARE = 512;
/** A longer file is removed: wiping it would take longer. */
const MAX_WIPED_BYTES = 64 * 1024;

const { O_EXCL, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;

/** Spare files of one folder on the same file system as their users. All have mode 0600. */
export class FilePool {
  readonly #folder: string;
  readonly #spare: string[] = [];
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of listNames(folder)) {
      const path = join(folder, name);
      if (this.#spare.length < MAX_SPARE && /^[0-9]+$/.test(name)) this.#spare.push(path);
      else unlinkQuietly(path);
      this.#count = Math.max(this.#count, (Number(name) || 0) + 1);
    }
  }

  /** Puts a file with this content at `path`, in the place of what is there: a reader sees the old or the new one, never half of one. */
  replace(path: string, text: string): void {
    const spare = this.#fill(Buffer.from(text));
    if (spare === undefined) writeFileAtomic(path, text, 0o600);
    else renameSync(spare, path);
  }

  /** Puts a file with this content at `path`. Fails with `EEXIST` when something is there. */
  create(path: string, content: Buffer): void {
    const spare = this.#fill(content);
    if (spare === undefined) {
      const fd = openSync(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
      try {
        writeAll(fd, content);
      } finally {
        closeSync(fd);
      }
      return;
    }
    try {
      linkSync(spare, path);
    } finally {
      unlinkQuietly(spare);
    }
  }

  /** Takes a file back that nobody reads or writes any more. A missing one is fine. */
  give(path: string): void {
    if (!existsSync(path)) return;
    if (this.#spare.length >= MAX_SPARE) return unlinkQuietly(path);
    const spare = join(this.#folder, String(this.#count++));
    renameSync(path, spare);
    this.#spare.push(spare);
  }

  /** Like {@link give}, for a file whose words must not stay on the disk. */
  giveWiped(path: string): void {
    if (!existsSync(path)) return;
    const fd = openSync(path, O_WRONLY | O_NOFOLLOW);
    try {
      const { size } = fstatSync(fd);
      if (size > MAX_WIPED_BYTES) return unlinkQuietly(path);
      writeAll(fd, Buffer.alloc(size), 0);
    } finally {
      closeSync(fd);
    }
    this.give(path);
  }

  /** A spare file with this content; `undefined` when there is none. */
  #fill(content: Buffer): string | undefined {
    const spare = this.#spare.pop();
    if (spare === undefined) return undefined;
    try {
      const fd = openSync(spare, O_WRONLY | O_NOFOLLOW);
      try {
        // a driver that was killed just then may have left it under its new name as well
        if (fstatSync(fd).nlink !== 1) throw Object.assign(new Error("in use"), { code: "ENOENT" });
        writeAll(fd, content, 0);
        ftruncateSync(fd, content.length);
      } finally {
        closeSync(fd);
      }
      return spare;
    } catch (reason) {
      unlinkQuietly(spare);
      // in use, or somebody tidied up
      if (errnoOf(reason) === "ENOENT") return this.#fill(content);
      throw reason;
    }
  }
}
