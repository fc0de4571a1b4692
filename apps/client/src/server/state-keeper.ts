import type { Clock } from "@outrider/backoff";
import type { Allocation, Job } from "@outrider/nomad-structs";
import type { StateBatch, StateStore } from "../state/index.ts";
import { ChangeFeed } from "./change-feed.ts";
import type { Table } from "./table.ts";
import { createTables, TABLE_NAMES, versionKey, type TableName, type Tables } from "./tables.ts";
import { Tx } from "./tx.ts";

/** How far the index jumps at a start: more than any index that was answered but never stored. */
interface Meta {
  readonly index: number;
  readonly tables: Partial<Record<TableName, number>>;
}

/** Changes that are made durable together at most. */
const MAX_GROUP = 64;

interface Waiting {
  readonly build: (tx: Tx) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The server's state: memory tables over a durable store. Changes are transactions, one after another; each is durable before
 * anybody can read it, so no index is ever seen twice or lost.
 */
export class StateKeeper {
  readonly tables: Tables = createTables();
  readonly feed = new ChangeFeed();
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #desired = new Map<string, number>();
  #index = 0;
  #queue: Waiting[] = [];
  #working = false;

  constructor(store: StateStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#load();
  }

  /** The index of the last change. */
  get index(): number {
    return this.#index;
  }

  /** The index at which the wanted allocations of a node changed last. */
  desiredIndex(nodeId: string): number {
    return this.#desired.get(nodeId) ?? 0;
  }

  /**
   * Runs a change after all earlier ones. If `build` throws, or the store refuses, nothing of it has happened. Changes that come
   * while one is being made durable share the next step: each sees those before it, and fails or succeeds by itself.
   */
  commit<T>(build: (tx: Tx) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ build, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#working) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#working = true;
    // One turn later, so that what comes together goes together.
    await Promise.resolve();
    while (this.#queue.length > 0) await this.#step(this.#queue.splice(0, MAX_GROUP));
    this.#working = false;
  }

  async #step(group: readonly Waiting[]): Promise<void> {
    const all = new Tx(this.tables, this.#index + 1, this.#clock.now());
    const done: Array<() => void> = [];
    const kept: Waiting[] = [];
    for (const waiting of group) {
      const tx = new Tx(all, kept.length === 0 ? all.index : all.index + 1, all.nowMs);
      try {
        const result = waiting.build(tx);
        if (tx.changed().length > 0) {
          all.merge(tx);
          kept.push(waiting);
        }
        done.push(() => waiting.resolve(result));
      } catch (reason) {
        waiting.reject(reason);
      }
    }
    const changed = all.changed();
    if (changed.length > 0) {
      try {
        await this.#store.write(this.#toBatch(all, changed));
      } catch (reason) {
        await this.#refused(group, kept, reason);
        return;
      }
      this.#index = all.index;
      for (const name of changed) all.table(name).apply(this.tables[name] as unknown as Table<unknown>, all.index);
      for (const node of all.desiredNodes) this.#desired.set(node, all.index);
    }
    for (const resolve of done) resolve();
    if (changed.length > 0) this.feed.publish(changed, all.events, all.index);
  }

  /** What was refused together may be taken one by one: each caller gets an answer of its own. */
  async #refused(group: readonly Waiting[], kept: readonly Waiting[], reason: unknown): Promise<void> {
    if (kept.length === 1 && group.length === 1) kept[0]?.reject(reason);
    else for (const waiting of group) await this.#step([waiting]);
  }

  #toBatch(tx: Tx, changed: readonly TableName[]): StateBatch {
    const put: Record<string, unknown> = {};
    const remove: string[] = [];
    for (const name of changed) {
      for (const [key, row] of tx.table(name).changes) {
        if (row === undefined) remove.push(storeKey(name, key));
        else put[storeKey(name, key)] = name === "allocs" ? withoutJob(row as Allocation) : row;
      }
    }
    const tables: Partial<Record<TableName, number>> = {};
    for (const name of TABLE_NAMES) tables[name] = changed.includes(name) ? tx.index : this.tables[name].index;
    put["meta"] = { index: tx.index, tables } satisfies Meta;
    return { put, delete: remove };
  }

  #load(): void {
    const meta = this.#store.get<Meta>("meta");
    this.#index = meta?.index ?? 0;
    for (const name of TABLE_NAMES) {
      const table = this.tables[name] as unknown as { index: number; set(key: string, row: unknown): void };
      table.index = meta?.tables[name] ?? 0;
      if (name !== "allocs") for (const [key, row] of this.#store.list(`t/${name}/`)) table.set(rowKey(name, key), row);
    }
    // After the versions: allocations are stored without their job and get it back from there.
    for (const [key, row] of this.#store.list<StoredAlloc>("t/allocs/")) {
      const { jobKey, ...alloc } = row;
      const Job: Job | null = jobKey === null ? null : (this.tables.versions.get(jobKey) ?? null);
      this.tables.allocs.set(rowKey("allocs", key), { ...alloc, Job });
      this.#desired.set(alloc.NodeID, this.#index);
    }
  }
}

interface StoredAlloc extends Allocation {
  readonly jobKey: string | null;
}

function withoutJob(alloc: Allocation): StoredAlloc {
  return { ...alloc, Job: null, jobKey: alloc.Job === null ? null : versionKey(alloc.Job) };
}

function storeKey(table: TableName, key: string): string {
  return `t/${table}/${key}`;
}

function rowKey(table: TableName, key: string): string {
  return key.slice(`t/${table}/`.length);
}
