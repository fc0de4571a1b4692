import type { Clock } from "@outrider/backoff";
import type { Allocation, Job } from "@outrider/nomad-structs";
import type { StateBatch, StateStore } from "../state/index.ts";
import { ChangeFeed } from "./change-feed.ts";
import { createTables, versionKey, type TableName, type Tables } from "./tables.ts";
import { Tx } from "./tx.ts";

/** How far the index jumps at a start: more than any index that was answered but never stored. */
interface Meta {
  readonly index: number;
  readonly tables: Partial<Record<TableName, number>>;
}

const TABLE_NAMES: readonly TableName[] = [
  "jobs",
  "versions",
  "submissions",
  "summaries",
  "launches",
  "evals",
  "allocs",
  "deployments",
  "nodes",
];

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
  #tail: Promise<unknown> = Promise.resolve();

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

  /** Runs a change after all earlier ones. If `build` throws, or the store refuses, nothing has happened. */
  commit<T>(build: (tx: Tx) => T): Promise<T> {
    const run = this.#tail.then(() => this.#run(build));
    this.#tail = run.catch(() => undefined);
    return run;
  }

  async #run<T>(build: (tx: Tx) => T): Promise<T> {
    const tx = new Tx(this.tables, this.#index + 1, this.#clock.now());
    const result = build(tx);
    const changed = TABLE_NAMES.filter((name) => tx.byName()[name].changes.size > 0);
    if (changed.length === 0) return result;
    await this.#store.write(this.#toBatch(tx, changed));
    this.#index = tx.index;
    for (const name of changed) tx.byName()[name].apply(tx.index);
    for (const node of tx.desiredNodes) this.#desired.set(node, tx.index);
    this.feed.publish(changed, tx.events, tx.index);
    return result;
  }

  #toBatch(tx: Tx, changed: readonly TableName[]): StateBatch {
    const put: Record<string, unknown> = {};
    const remove: string[] = [];
    for (const name of changed) {
      for (const [key, row] of tx.byName()[name].changes) {
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
