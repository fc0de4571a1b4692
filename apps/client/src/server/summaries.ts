import type { Allocation, Job, JobSummary } from "@outrider/nomad-structs";
import { JobSummaryStruct, make } from "@outrider/nomad-structs";
import type { Tx } from "./tx.ts";
import { jobKey } from "./tables.ts";

type Counts = NonNullable<JobSummary["Summary"]>[string];

const FIELD: Readonly<Record<string, keyof Counts>> = {
  pending: "Starting",
  running: "Running",
  complete: "Complete",
  failed: "Failed",
  lost: "Lost",
  unknown: "Unknown",
};
/** Counts that say how many there are now; the others say how many there ever were. */
const LEVELS: ReadonlySet<keyof Counts> = new Set(["Starting", "Running", "Unknown"]);

/** Makes or completes the summary of a job that was registered. */
export function ensureSummary(tx: Tx, job: Job): void {
  const key = jobKey(job.Namespace, job.ID);
  const old = tx.summaries.get(key);
  const groups: Record<string, Counts> = { ...old?.Summary };
  for (const group of job.TaskGroups ?? [])
    groups[group.Name] ??= { Queued: 0, Complete: 0, Failed: 0, Running: 0, Starting: 0, Lost: 0, Unknown: 0 };
  const summary = make(JobSummaryStruct, {
    JobID: job.ID,
    Namespace: job.Namespace,
    Children: old?.Children ?? { Pending: 0, Running: 0, Dead: 0 },
    CreateIndex: old?.CreateIndex ?? tx.index,
  });
  tx.summaries.put(key, { ...summary, Summary: groups, ModifyIndex: tx.index });
}

/** Notes a new allocation (`before` undefined) or a changed client status. */
export function countAlloc(tx: Tx, before: Allocation | undefined, after: Allocation): void {
  if (before !== undefined && before.ClientStatus === after.ClientStatus) return;
  // Instances of a purged job say nothing of a later one with its name.
  const job = tx.jobs.get(jobKey(after.Namespace, after.JobID));
  if (job !== undefined && after.Job !== null && after.Job.CreateIndex !== job.CreateIndex) return;
  change(tx, after.Namespace, after.JobID, after.TaskGroup, (counts) => {
    const from = before === undefined ? undefined : FIELD[before.ClientStatus];
    const to = FIELD[after.ClientStatus];
    if (from !== undefined && LEVELS.has(from)) counts[from] = Math.max(0, counts[from] - 1);
    if (to !== undefined) counts[to] += 1;
  });
}

/** Takes an allocation that disappears without having ended out of the levels. */
export function forgetAlloc(tx: Tx, alloc: Allocation): void {
  const field = FIELD[alloc.ClientStatus];
  if (field === undefined || !LEVELS.has(field)) return;
  change(tx, alloc.Namespace, alloc.JobID, alloc.TaskGroup, (counts) => {
    counts[field] = Math.max(0, counts[field] - 1);
  });
}

/** Sets how many allocations of each group wait for room. */
export function setQueued(tx: Tx, job: Job, queued: Readonly<Record<string, number>>): void {
  for (const [group, count] of Object.entries(queued)) {
    const now = tx.summaries.get(jobKey(job.Namespace, job.ID))?.Summary?.[group]?.Queued;
    if (now !== undefined && now !== count)
      change(tx, job.Namespace, job.ID, group, (counts) => void (counts.Queued = count));
  }
}

/** Notes that a child of a periodic or parameterized job changed its status. */
export function countChild(tx: Tx, child: Job, before: string | undefined, after: string | undefined): void {
  if (child.ParentID === "" || before === after) return;
  const key = jobKey(child.Namespace, child.ParentID);
  const summary = tx.summaries.get(key);
  if (summary === undefined) return;
  const children = { Pending: 0, Running: 0, Dead: 0, ...summary.Children };
  const of = (status: string | undefined): "Pending" | "Running" | "Dead" | undefined =>
    status === "pending" ? "Pending" : status === "running" ? "Running" : status === "dead" ? "Dead" : undefined;
  const [from, to] = [of(before), of(after)];
  if (from !== undefined) children[from] = Math.max(0, children[from] - 1);
  if (to !== undefined) children[to] += 1;
  tx.summaries.put(key, { ...summary, Children: children, ModifyIndex: tx.index });
}

function change(tx: Tx, namespace: string, jobId: string, group: string, edit: (counts: Counts) => void): void {
  const key = jobKey(namespace, jobId);
  const summary = tx.summaries.get(key);
  if (summary === undefined) return;
  const counts: Counts = {
    Queued: 0,
    Complete: 0,
    Failed: 0,
    Running: 0,
    Starting: 0,
    Lost: 0,
    Unknown: 0,
    ...summary.Summary?.[group],
  };
  edit(counts);
  tx.summaries.put(key, { ...summary, Summary: { ...summary.Summary, [group]: counts }, ModifyIndex: tx.index });
}
