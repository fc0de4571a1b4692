/** The driver's folder: one slot, one meta file and, while starting, one spec per task. */
import { mkdirSync, readFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { FilePool } from "./file-pool.ts";
import { errnoOf, listNames, unlinkQuietly } from "./files.ts";
import type { GroupPaths } from "./group.ts";
import { emptySlot, readSlot, saveResult, type SavedResult, type SlotContent } from "./slot.ts";

/** Format of the meta file. A driver reads all older ones. */
export const META_VERSION = 1;

/** What a driver that takes over has to know of a task. */
export interface TaskMeta {
  readonly version: number;
  readonly id: string;
  readonly name: string;
  readonly allocId: string;
  readonly bootId: string;
  readonly startedAtMs: number;
  readonly fifos: readonly [string, string];
  readonly group: GroupPaths;
  readonly workDir: string;
}

/** Names and contents of the files. */
export class TaskStore {
  readonly folder: string;
  readonly slots: string;
  readonly #tasks: string;
  readonly #specs: string;
  /** For all small files of this folder. */
  readonly pool: FilePool;

  constructor(folder: string) {
    this.folder = folder;
    this.slots = join(folder, "slots");
    this.#tasks = join(folder, "tasks");
    this.#specs = join(folder, "specs");
    for (const path of [this.slots, this.#tasks, this.#specs]) mkdirSync(path, { recursive: true, mode: 0o700 });
    this.pool = new FilePool(join(folder, "spare"));
  }

  /** The file name of a task. */
  static keyOf(taskId: string): string {
    return createHash("sha256").update(taskId).digest("hex").slice(0, 32);
  }

  slotPath(key: string): string {
    return join(this.slots, key);
  }

  specPath(key: string): string {
    return join(this.#specs, key);
  }

  /** Meta first, then spec, then slot: a slot proves that all is there. Throws `EEXIST` for an id that was started before. */
  create(key: string, meta: TaskMeta, spec: string): void {
    this.pool.replace(this.#metaPath(key), JSON.stringify(meta));
    this.pool.replace(this.specPath(key), spec);
    this.pool.create(this.slotPath(key), emptySlot());
  }

  /** Forgets a task. The slot goes first, the reverse of creation. `written`: the shim has said its last word into the slot. */
  remove(key: string, written = false): void {
    if (written) this.pool.give(this.slotPath(key));
    else unlinkQuietly(this.slotPath(key));
    unlinkQuietly(this.specPath(key));
    this.pool.give(this.#metaPath(key));
  }

  /** Nothing can start from the spec after this. */
  removeSpec(key: string): void {
    unlinkQuietly(this.specPath(key));
  }

  /** For a spec that was read to its end. */
  retireSpec(key: string): void {
    this.pool.giveWiped(this.specPath(key));
  }

  readSlot(key: string): SlotContent {
    return readSlot(this.slotPath(key));
  }

  saveResult(key: string, result: SavedResult): void {
    saveResult(this.slotPath(key), result);
  }

  /** Keys of all tasks; a slot without meta, or the reverse, was never started and is removed. */
  keys(): string[] {
    const slots = new Set(listNames(this.slots));
    const metas = new Set(
      listNames(this.#tasks)
        .filter((name) => name.endsWith(".json"))
        .map((name) => name.slice(0, -5)),
    );
    for (const key of new Set([...slots, ...metas, ...listNames(this.#specs)])) {
      if (!slots.has(key) || !metas.has(key)) this.remove(key);
    }
    return [...slots].filter((key) => metas.has(key));
  }

  /** Reads a meta file; `undefined` when it is damaged or of a newer format. */
  readMeta(key: string): TaskMeta | undefined {
    try {
      const meta = JSON.parse(readFileSync(this.#metaPath(key), "utf8")) as TaskMeta;
      return meta.version <= META_VERSION && typeof meta.id === "string" ? meta : undefined;
    } catch (reason) {
      if (errnoOf(reason) === "ENOENT" || reason instanceof SyntaxError) return undefined;
      throw reason;
    }
  }

  #metaPath(key: string): string {
    return join(this.#tasks, `${key}.json`);
  }
}
