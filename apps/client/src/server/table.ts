/** How rows are found by something other than their key. */
export type Groupers<T, G extends string> = Readonly<Record<G, (row: T) => string>>;

/** Rows of one kind in memory, by key and by groups. Rows are never changed in place: a change is a new object. */
export class Table<T, G extends string = never> {
  readonly name: string;
  readonly groupers: Groupers<T, G>;
  /** The last index at which any row was set or deleted. */
  index = 0;
  readonly #rows = new Map<string, T>();
  readonly #groups = new Map<string, Map<string, Set<string>>>();

  constructor(name: string, groupers: Groupers<T, G>) {
    this.name = name;
    this.groupers = groupers;
    for (const group of Object.keys(groupers)) this.#groups.set(group, new Map());
  }

  get size(): number {
    return this.#rows.size;
  }

  get(key: string): T | undefined {
    return this.#rows.get(key);
  }

  entries(): IterableIterator<[string, T]> {
    return this.#rows.entries();
  }

  values(): IterableIterator<T> {
    return this.#rows.values();
  }

  /** Keys of the rows whose group has this value. */
  keysBy(group: G, value: string): Iterable<string> {
    return this.#groups.get(group)?.get(value) ?? [];
  }

  by(group: G, value: string): T[] {
    const rows: T[] = [];
    for (const key of this.keysBy(group, value)) rows.push(this.#rows.get(key) as T);
    return rows;
  }

  set(key: string, row: T): void {
    this.delete(key);
    this.#rows.set(key, row);
    for (const [group, of] of Object.entries(this.groupers) as Array<[string, (row: T) => string]>) {
      const values = this.#groups.get(group) as Map<string, Set<string>>;
      const value = of(row);
      const keys = values.get(value);
      if (keys === undefined) values.set(value, new Set([key]));
      else keys.add(key);
    }
  }

  delete(key: string): void {
    const row = this.#rows.get(key);
    if (row === undefined) return;
    this.#rows.delete(key);
    for (const [group, of] of Object.entries(this.groupers) as Array<[string, (row: T) => string]>) {
      const values = this.#groups.get(group) as Map<string, Set<string>>;
      const value = of(row);
      const keys = values.get(value);
      keys?.delete(key);
      if (keys?.size === 0) values.delete(value);
    }
  }
}

/** A table as a transaction sees it: the committed rows under its own changes. */
export class TxTable<T, G extends string> {
  readonly base: Table<T, G>;
  /** Changed rows; undefined is a deletion. */
  readonly changes = new Map<string, T | undefined>();

  constructor(base: Table<T, G>) {
    this.base = base;
  }

  get(key: string): T | undefined {
    return this.changes.has(key) ? this.changes.get(key) : this.base.get(key);
  }

  put(key: string, row: T): void {
    this.changes.set(key, row);
  }

  delete(key: string): void {
    this.changes.set(key, undefined);
  }

  by(group: G, value: string): T[] {
    const rows: T[] = [];
    for (const key of this.base.keysBy(group, value)) {
      if (!this.changes.has(key)) rows.push(this.base.get(key) as T);
    }
    for (const row of this.changes.values())
      if (row !== undefined && this.base.groupers[group](row) === value) rows.push(row);
    return rows;
  }

  all(): T[] {
    const rows: T[] = [];
    for (const [key, row] of this.base.entries()) if (!this.changes.has(key)) rows.push(row);
    for (const row of this.changes.values()) if (row !== undefined) rows.push(row);
    return rows;
  }

  /** Puts the changes into the committed rows. */
  apply(index: number): boolean {
    if (this.changes.size === 0) return false;
    for (const [key, row] of this.changes) {
      if (row === undefined) this.base.delete(key);
      else this.base.set(key, row);
    }
    this.base.index = index;
    return true;
  }
}
