import type {
  Allocation,
  Deployment,
  Evaluation,
  Job,
  JobSubmission,
  JobSummary,
  Node,
  ServiceRegistration,
} from "@outrider/nomad-structs";
import { TxTable, type RowSource } from "./table.ts";
import { TABLE_NAMES, versionKey, type PeriodicLaunch, type TableName, type Variable } from "./tables.ts";

/** Something that happened, as the event stream tells it. */
export interface ServerEvent {
  readonly Topic: "Job" | "Evaluation" | "Allocation" | "Deployment" | "Node";
  readonly Type: string;
  readonly Key: string;
  readonly Namespace: string;
  readonly FilterKeys: readonly string[] | null;
  readonly Index: number;
  readonly Payload: Readonly<Record<string, unknown>>;
}

/** What a transaction stands on: committed tables, or another transaction. */
export interface TxSources {
  readonly jobs: RowSource<Job, "parent" | "periodic">;
  readonly versions: RowSource<Job, "job">;
  readonly submissions: RowSource<JobSubmission, "job">;
  readonly summaries: RowSource<JobSummary, never>;
  readonly launches: RowSource<PeriodicLaunch, never>;
  readonly evals: RowSource<Evaluation, "job" | "status">;
  readonly allocs: RowSource<Allocation, "job" | "node" | "eval" | "deployment">;
  readonly deployments: RowSource<Deployment, "job" | "status">;
  readonly nodes: RowSource<Node, never>;
  readonly services: RowSource<ServiceRegistration, "alloc" | "name">;
  readonly variables: RowSource<Variable, never>;
}

/** A change of the server's state under way: reads see its own writes, and nobody else does before it is durable. */
export class Tx implements TxSources {
  readonly jobs: TxTable<Job, "parent" | "periodic">;
  readonly versions: TxTable<Job, "job">;
  readonly submissions: TxTable<JobSubmission, "job">;
  readonly summaries: TxTable<JobSummary, never>;
  readonly launches: TxTable<PeriodicLaunch, never>;
  readonly evals: TxTable<Evaluation, "job" | "status">;
  readonly allocs: TxTable<Allocation, "job" | "node" | "eval" | "deployment">;
  readonly deployments: TxTable<Deployment, "job" | "status">;
  readonly nodes: TxTable<Node, never>;
  readonly services: TxTable<ServiceRegistration, "alloc" | "name">;
  readonly variables: TxTable<Variable, never>;
  readonly events: ServerEvent[] = [];
  /** Epoch ms of the change. */
  readonly nowMs: number;
  /** Nodes whose desired allocations changed. */
  readonly desiredNodes = new Set<string>();
  #index: number;

  constructor(tables: TxSources, index: number, nowMs: number) {
    this.jobs = new TxTable(tables.jobs);
    this.versions = new TxTable(tables.versions);
    this.submissions = new TxTable(tables.submissions);
    this.summaries = new TxTable(tables.summaries);
    this.launches = new TxTable(tables.launches);
    this.evals = new TxTable(tables.evals);
    this.allocs = new TxTable(tables.allocs);
    this.deployments = new TxTable(tables.deployments);
    this.nodes = new TxTable(tables.nodes);
    this.services = new TxTable(tables.services);
    this.variables = new TxTable(tables.variables);
    this.#index = index;
    this.nowMs = nowMs;
  }

  /** The index that changes get now. */
  get index(): number {
    return this.#index;
  }

  /** Epoch nanoseconds. */
  get nowNs(): number {
    return this.nowMs * 1_000_000;
  }

  /** Goes on with the next index: what follows counts as a later change, durable together with this one. */
  advance(): number {
    this.#index += 1;
    return this.#index;
  }

  /** Names of the tables that it changes. */
  changed(): TableName[] {
    return TABLE_NAMES.filter((name) => this.table(name).changes.size > 0);
  }

  /** One table, when its rows' type does not matter. */
  table(name: TableName): TxTable<unknown, never> {
    return this[name] as unknown as TxTable<unknown, never>;
  }

  /** Takes over a transaction that stood on this one. */
  merge(other: Tx): void {
    for (const name of other.changed()) this.table(name).merge(other.table(name));
    this.events.push(...other.events);
    for (const node of other.desiredNodes) this.desiredNodes.add(node);
    this.#index = other.index;
  }

  putVersion(job: Job): void {
    this.versions.put(versionKey(job), job);
  }

  /** Stores an allocation that the server changed: nodes are to look at it again. */
  putDesired(alloc: Allocation): Allocation {
    const changed = { ...alloc, ModifyIndex: this.index, AllocModifyIndex: this.index, ModifyTime: this.nowNs };
    this.allocs.put(alloc.ID, changed);
    this.desiredNodes.add(alloc.NodeID);
    return changed;
  }

  event(
    topic: ServerEvent["Topic"],
    type: string,
    key: string,
    namespace: string,
    payload: Readonly<Record<string, unknown>>,
    filterKeys: readonly string[] | null = null,
  ): void {
    this.events.push({
      Topic: topic,
      Type: type,
      Key: key,
      Namespace: namespace,
      FilterKeys: filterKeys,
      Index: this.index,
      Payload: payload,
    });
  }
}
