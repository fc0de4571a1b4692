import { readFileSync } from "node:fs";
import type { ProcessTable } from "./process-table.ts";
import { ProcessTree } from "./process-tree.ts";

/** How old the list of processes may be when a new tree is planted, ms. */
const PLANT_AGE_MS = 100;

/** All process trees that are sampled, over one list of the machine's processes. @internal */
export class ProcessForest {
  readonly #table: ProcessTable;
  readonly #procDir: string;
  readonly #pageBytes: number;
  readonly #maxAgeMs: number;
  readonly #trees = new Set<ProcessTree>();
  /** Whether the machine swaps at all; when not, nobody's share need be read. */
  swapping = false;

  constructor(table: ProcessTable, procDir: string, pageBytes: number, maxAgeMs: number) {
    this.#table = table;
    this.#procDir = procDir;
    this.#pageBytes = pageBytes;
    this.#maxAgeMs = maxAgeMs;
  }

  /** The number of processes in all trees. */
  get size(): number {
    let size = 0;
    for (const tree of this.#trees) size += tree.size;
    return size;
  }

  /** A new tree of a root and all that belongs to it now; `undefined` when the root is gone, or is not the process that started at `startTime`. */
  plant(rootPid: number, startTime: number | undefined, nowMs: number): ProcessTree | undefined {
    this.refresh(nowMs, PLANT_AGE_MS);
    const root = this.#table.find(rootPid);
    if (root === undefined) return undefined;
    if (startTime !== undefined && root.start !== startTime) return undefined;
    const tree = new ProcessTree(rootPid, this.#table, this.#pageBytes);
    tree.add(root);
    // Parents mostly come before their children, so this ends after two or three rounds.
    const others = [...this.#table.all()];
    for (let found = -1; found !== tree.size;) {
      found = tree.size;
      for (const process of others) if (!tree.has(process.pid) && tree.claims(process)) tree.add(process);
    }
    this.#trees.add(tree);
    return tree;
  }

  uproot(tree: ProcessTree): void {
    this.#trees.delete(tree);
    tree.release();
  }

  /** Lists the processes when the list is old, and gives new ones to their trees. */
  refresh(nowMs: number, maxAgeMs = this.#maxAgeMs): void {
    const fresh = this.#table.list(nowMs, maxAgeMs);
    if (fresh === undefined) return;
    this.swapping = this.#readSwapping();
    for (const process of fresh) {
      for (const tree of this.#trees) {
        // Parents and leaders come first, so a pid that is used again is known before anything is claimed by it.
        tree.replace(process.pid);
        if (tree.claims(process)) tree.add(process);
      }
    }
  }

  #readSwapping(): boolean {
    try {
      return readFileSync(`${this.#procDir}/swaps`, "latin1").trim().split("\n").length > 1;
    } catch {
      return false;
    }
  }
}
