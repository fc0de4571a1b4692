import type { Job } from "@outrider/nomad-structs";
import { isClientTerminal } from "@outrider/nomad-structs";
import { isEvalTerminal } from "./evaluations.ts";
import { countChild } from "./summaries.ts";
import { jobKey } from "./tables.ts";
import type { Tx } from "./tx.ts";

/** Whether a job only makes other jobs: it runs nothing itself. */
export function isTemplateJob(job: Job): boolean {
  return job.Periodic !== null || (job.ParameterizedJob !== null && !job.Dispatched);
}

/** `pending`, `running` or `dead`, from what the job's allocations and evaluations are. */
export function computeJobStatus(tx: Tx, job: Job): string {
  const key = jobKey(job.Namespace, job.ID);
  if (isTemplateJob(job)) return job.Stop ? "dead" : "running";
  if (tx.allocs.by("job", key).some((alloc) => !isClientTerminal(alloc.ClientStatus))) return "running";
  if (job.Type === "system" && !job.Stop) return "running";
  const evals = tx.evals.by("job", key);
  if (evals.some((evaluation) => !isEvalTerminal(evaluation) && evaluation.Status !== "blocked"))
    return waitsToReschedule(tx, job) ? "running" : "pending";
  if (evals.some((evaluation) => evaluation.Status === "blocked"))
    return job.Type === "service" ? "running" : "pending";
  return "dead";
}

/** A service whose instance failed and waits for its reschedule delay is not new: it is running, without an instance. */
function waitsToReschedule(tx: Tx, job: Job): boolean {
  return (
    job.Type === "service" &&
    tx.allocs
      .by("job", jobKey(job.Namespace, job.ID))
      .some((alloc) => alloc.FollowupEvalID !== "" && alloc.DesiredStatus === "run")
  );
}

/** Stores the status of a job when it changed. */
export function refreshJobStatus(tx: Tx, namespace: string, id: string): void {
  const job = tx.jobs.get(jobKey(namespace, id));
  if (job === undefined) return;
  const status = computeJobStatus(tx, job);
  if (status === job.Status) return;
  const next = { ...job, Status: status, ModifyIndex: tx.index };
  tx.jobs.put(jobKey(namespace, id), next);
  countChild(tx, next, job.Status, status);
}
