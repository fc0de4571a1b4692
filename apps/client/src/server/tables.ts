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
import { Table } from "./table.ts";

/** When a periodic job was launched last, so that a restart launches nothing twice. */
export interface PeriodicLaunch {
  readonly Namespace: string;
  readonly ID: string;
  /** Epoch ms. */
  readonly LaunchMs: number;
}

/** Everything the server knows. */
export interface Tables {
  readonly jobs: Table<Job, "parent" | "periodic">;
  /** Every version that is kept, also of purged jobs whose allocations are still there. */
  readonly versions: Table<Job, "job">;
  readonly submissions: Table<JobSubmission, "job">;
  readonly summaries: Table<JobSummary>;
  readonly launches: Table<PeriodicLaunch>;
  readonly evals: Table<Evaluation, "job" | "status">;
  readonly allocs: Table<Allocation, "job" | "node" | "eval" | "deployment">;
  readonly deployments: Table<Deployment, "job" | "status">;
  readonly nodes: Table<Node>;
  readonly services: Table<ServiceRegistration, "alloc" | "name">;
  readonly variables: Table<Variable>;
}

/** A variable of the cluster, as the API shows it. Times are epoch nanoseconds. */
export interface Variable {
  readonly Namespace: string;
  readonly Path: string;
  readonly Lock: null;
  readonly CreateIndex: number;
  readonly CreateTime: number;
  readonly ModifyIndex: number;
  readonly ModifyTime: number;
  readonly Items: Readonly<Record<string, string>>;
}

/** Name of a table. */
export type TableName = keyof Tables;

/** All names. */
export const TABLE_NAMES: readonly TableName[] = [
  "jobs",
  "versions",
  "submissions",
  "summaries",
  "launches",
  "evals",
  "allocs",
  "deployments",
  "nodes",
  "services",
  "variables",
];

/** Key of a job: ids may hold anything printable but never a newline. */
export function jobKey(namespace: string, id: string): string {
  return `${namespace}\n${id}`;
}

/** Key of all instances of a service. */
export function serviceKey(namespace: string, name: string): string {
  return `${namespace}\n${name}`;
}

/** Key of a variable. */
export function variableKey(namespace: string, path: string): string {
  return `${namespace}\n${path}`;
}

/** Key of one version of a job; the create index tells a purged job from a later one of the same name. */
export function versionKey(job: Pick<Job, "Namespace" | "ID" | "CreateIndex" | "Version">): string {
  return `${jobKey(job.Namespace, job.ID)}\n${job.CreateIndex}\n${job.Version}`;
}

/** Empty tables. */
export function createTables(): Tables {
  return {
    jobs: new Table("jobs", {
      parent: (job) => (job.ParentID === "" ? "" : jobKey(job.Namespace, job.ParentID)),
      periodic: (job) => (job.Periodic === null || job.Stop ? "no" : "yes"),
    }),
    versions: new Table("versions", { job: (job) => jobKey(job.Namespace, job.ID) }),
    submissions: new Table<JobSubmission, "job">("submissions", { job: ofJob }),
    summaries: new Table("summaries", {}),
    launches: new Table("launches", {}),
    evals: new Table<Evaluation, "job" | "status">("evals", { job: ofJob, status: (row) => row.Status }),
    allocs: new Table<Allocation, "job" | "node" | "eval" | "deployment">("allocs", {
      job: ofJob,
      node: (row) => row.NodeID,
      eval: (row) => row.EvalID,
      deployment: (row) => row.DeploymentID,
    }),
    deployments: new Table<Deployment, "job" | "status">("deployments", { job: ofJob, status: (row) => row.Status }),
    nodes: new Table("nodes", {}),
    services: new Table<ServiceRegistration, "alloc" | "name">("services", {
      alloc: (row) => row.AllocID,
      name: (row) => serviceKey(row.Namespace, row.ServiceName),
    }),
    variables: new Table("variables", {}),
  };
}

function ofJob(row: { readonly Namespace: string; readonly JobID: string }): string {
  return jobKey(row.Namespace, row.JobID);
}
