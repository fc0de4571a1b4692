/** How rows are found by something other than their key. */
export type Groupers<T, G extends string> = Readonly<Record<G, (row: T) => string>>;

/** Rows that can be read: committed ones, or those under a transaction. */
export interface RowSource<T, G extends string> {
  readonly groupers: Groupers<T, G>;
  get(key: string): T | undefined;
  entries(): Iterable<[string, T]>;
  entriesBy(group: G, value: string): Iterable<[string, T]>;
}

/** Rows of one kind in memory, by key and by groups. Rows are never changed in place: a change is a new object. */
export class Table<T, G extends string = never> implements RowSource<T, G> {
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

  *entriesBy(group: G, value: string): Iterable<[string, T]> {
    for (const key of this.keysBy(group, value)) yield [key, this.#rows.get(key) as T];
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

/** A table as a transaction sees it: the rows below it under its own changes. Transactions may stand on one another. */
export class TxTable<T, G extends string> implements RowSource<T, G> {
  readonly groupers: Groupers<T, G>;
  /** Changed rows; undefined is a deletion. */
  readonly changes = new Map<string, T | undefined>();
  readonly #below: RowSource<T, G>;

  constructor(below: RowSource<T, G>) {
    this.#below = below;
    this.groupers = below.groupers;
  }

  get(key: string): T | undefined {
    return this.changes.has(key) ? this.changes.get(key) : this.#below.get(key);
  }

  put(key: string, row: T): void {
    this.changes.set(key, row);
  }

  delete(key: string): void {
    this.changes.set(key, undefined);
  }

  *entries(): Iterable<[string, T]> {
    for (const entry of this.#below.entries()) if (!this.changes.has(entry[0])) yield entry;
    for (const [key, row] of this.changes) if (row !== undefined) yield [key, row];
  }

  *entriesBy(group: G, value: string): Iterable<[string, T]> {
    for (const entry of this.#below.entriesBy(group, value)) if (!this.changes.has(entry[0])) yield entry;
    const of = this.groupers[group];
    for (const [key, row] of this.changes) if (row !== undefined && of(row) === value) yield [key, row];
  }

  by(group: G, value: string): T[] {
    const rows: T[] = [];
    for (const [, row] of this.entriesBy(group, value)) rows.push(row);
    return rows;
  }

  all(): T[] {
    const rows: T[] = [];
    for (const [, row] of this.entries()) rows.push(row);
    return rows;
  }

  /** Takes over the changes of a transaction that stood on this one. */
  merge(other: TxTable<T, G>): void {
    for (const [key, row] of other.changes) this.changes.set(key, row);
  }

  /** Puts the changes into the committed rows. */
  apply(table: Table<T, G>, index: number): void {
    for (const [key, row] of this.changes) {
      if (row === undefined) table.delete(key);
      else table.set(key, row);
    }
    table.index = index;
  }
}
