import { isClientTerminal } from "@outrider/nomad-structs";
import { isDeploymentActive } from "./deployments.ts";
import { isEvalTerminal } from "./evaluations.ts";
import { isTemplateJob } from "./job-status.ts";
import { forgetServicesOf } from "./services.ts";
import { countChild, forgetAlloc } from "./summaries.ts";
import { jobKey, versionKey } from "./tables.ts";
import type { Tx } from "./tx.ts";

/** How old ended things are when they are forgotten, ms. Zero: at once (`system gc`). */
export interface GcThresholds {
  readonly evalMs: number;
  readonly batchEvalMs: number;
  readonly jobMs: number;
  readonly deploymentMs: number;
}

/** Nomad's thresholds. */
export const DEFAULT_GC: GcThresholds = {
  evalMs: 3_600_000,
  batchEvalMs: 86_400_000,
  jobMs: 4 * 3_600_000,
  deploymentMs: 3_600_000,
};
/** Everything that has ended. */
export const FORCE_GC: GcThresholds = { evalMs: 0, batchEvalMs: 0, jobMs: 0, deploymentMs: 0 };

const MS_NS = 1_000_000;

/** Forgets what has ended long enough ago. */
export function collectGarbage(tx: Tx, o: GcThresholds): void {
  const ageMs = (timeNs: number): number => tx.nowMs - timeNs / MS_NS;
  for (const job of tx.jobs.all())
    if (job.Status === "dead" && canForgetJob(tx, job.Namespace, job.ID, o) && ageMs(lastTouched(tx, job)) >= o.jobMs)
      forgetJob(tx, job.Namespace, job.ID);
  for (const evaluation of tx.evals.all()) {
    const key = jobKey(evaluation.Namespace, evaluation.JobID);
    const job = tx.jobs.get(key);
    if (
      !isEvalTerminal(evaluation) ||
      ageMs(evaluation.ModifyTime) < (evaluation.Type === "batch" ? o.batchEvalMs : o.evalMs)
    )
      continue;
    const allocs = tx.allocs.by("eval", evaluation.ID);
    // Finished batch work is the proof that it needs no second run, as long as its job is there.
    const removable = allocs.filter(
      (alloc) =>
        isClientTerminal(alloc.ClientStatus) &&
        (job === undefined ||
          job.Stop ||
          (job.Type !== "batch" &&
            job.Type !== "sysbatch" &&
            (alloc.DesiredStatus !== "run" || alloc.NextAllocation !== ""))),
    );
    for (const alloc of removable) forgetAllocation(tx, alloc.ID);
    if (removable.length === allocs.length) tx.evals.delete(evaluation.ID);
  }
  for (const deployment of tx.deployments.all()) {
    if (
      !isDeploymentActive(deployment) &&
      ageMs(deployment.ModifyTime) >= o.deploymentMs &&
      tx.allocs.by("deployment", deployment.ID).every((alloc) => isClientTerminal(alloc.ClientStatus))
    )
      tx.deployments.delete(deployment.ID);
  }
  for (const version of tx.versions.all()) {
    if (tx.jobs.get(jobKey(version.Namespace, version.ID))?.CreateIndex === version.CreateIndex) continue;
    if (
      tx.allocs
        .by("job", jobKey(version.Namespace, version.ID))
        .every((alloc) => alloc.Job?.CreateIndex !== version.CreateIndex)
    )
      tx.versions.delete(versionKey(version));
  }
}

function lastTouched(
  tx: Tx,
  job: { readonly SubmitTime: number; readonly Namespace: string; readonly ID: string },
): number {
  let last = job.SubmitTime;
  for (const alloc of tx.allocs.by("job", jobKey(job.Namespace, job.ID))) last = Math.max(last, alloc.ModifyTime);
  return last;
}

function canForgetJob(tx: Tx, namespace: string, id: string, o: GcThresholds): boolean {
  const key = jobKey(namespace, id);
  const job = tx.jobs.get(key);
  if (job === undefined || (isTemplateJob(job) && !job.Stop)) return false;
  // Services are kept until somebody stops them: a dead one may be started again.
  if (job.Type === "service" && !job.Stop && o.jobMs > 0) return false;
  if (!job.Stop && (job.Type === "service" || job.Type === "system")) return false;
  return (
    tx.evals.by("job", key).every(isEvalTerminal) &&
    tx.allocs.by("job", key).every((alloc) => isClientTerminal(alloc.ClientStatus)) &&
    tx.jobs.by("parent", key).length === 0
  );
}

function forgetJob(tx: Tx, namespace: string, id: string): void {
  const key = jobKey(namespace, id);
  const job = tx.jobs.get(key);
  for (const alloc of tx.allocs.by("job", key)) forgetAllocation(tx, alloc.ID);
  for (const evaluation of tx.evals.by("job", key)) tx.evals.delete(evaluation.ID);
  for (const version of tx.versions.by("job", key)) {
    tx.versions.delete(versionKey(version));
    tx.submissions.delete(versionKey(version));
  }
  tx.summaries.delete(key);
  tx.launches.delete(key);
  tx.jobs.delete(key);
  if (job !== undefined) countChild(tx, job, job.Status, undefined);
}

function forgetAllocation(tx: Tx, id: string): void {
  const alloc = tx.allocs.get(id);
  if (alloc === undefined) return;
  forgetAlloc(tx, alloc);
  forgetServicesOf(tx, id);
  tx.allocs.delete(id);
  tx.desiredNodes.add(alloc.NodeID);
}
