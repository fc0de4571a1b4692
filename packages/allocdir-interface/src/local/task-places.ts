import { join } from "node:path";

/** How a layout differs that puts the directories of tasks elsewhere. */
export interface OtherPlaces {
  /** The directory that holds those of all tasks; trusted. */
  readonly root: string;
  /** Name of a task's directory there. */
  readonly nameOf: (task: string) => string;
  /** Tasks that have a directory there, registered or not. */
  readonly found: () => readonly string[];
}

/** Where the directories of an allocation's tasks are: below its own, unless the layout says otherwise. */
export class TaskPlaces {
  readonly #allocDir: string;
  readonly #other: OtherPlaces | undefined;

  constructor(allocDir: string, other: OtherPlaces | undefined) {
    this.#allocDir = allocDir;
    this.#other = other;
  }

  of(task: string): [parent: string, name: string] {
    return this.#other === undefined ? [this.#allocDir, task] : [this.#other.root, this.#other.nameOf(task)];
  }

  /** Tasks with a directory that is not below the allocation's. */
  elsewhere(): readonly string[] {
    return this.#other?.found() ?? [];
  }

  /** What the tree of the allocation shows in place of those; undefined when all are in it anyway. */
  get grafts(): (() => ReadonlyMap<string, string>) | undefined {
    if (this.#other === undefined) return undefined;
    return () => new Map(this.elsewhere().map((task) => [task, join(...this.of(task))]));
  }
}
