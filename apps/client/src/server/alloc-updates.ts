import { isDeepStrictEqual } from "node:util";
import type { Allocation, Job } from "@outrider/nomad-structs";
import { isClientTerminal } from "@outrider/nomad-structs";
import type { AllocUpdate } from "../node/server-link.ts";
import { countHealth, isDeploymentActive, putDeployment } from "./deployments.ts";
import { createEval, isEvalTerminal, updateEval } from "./evaluations.ts";
import { refreshJobStatus } from "./job-status.ts";
import { decideReschedule } from "./reschedule.ts";
import { forgetServicesOf } from "./services.ts";
import { countAlloc } from "./summaries.ts";
import { jobKey } from "./tables.ts";
import type { Tx } from "./tx.ts";

/** Takes what the node reports of its allocations, and wakes the scheduler where that changes what should run. */
export function applyAllocUpdates(tx: Tx, updates: readonly AllocUpdate[], newId: () => string): void {
  const jobs = new Map<string, Allocation>();
  const failedJobs = new Map<string, Allocation>();
  let freed = false;
  for (const update of updates) {
    const before = tx.allocs.get(update.ID);
    if (before === undefined) continue;
    const after = merge(tx, before, update);
    tx.allocs.put(after.ID, after);
    tx.event("Allocation", "AllocationUpdated", after.ID, after.Namespace, { Allocation: after }, [
      after.JobID,
      after.DeploymentID,
    ]);
    countAlloc(tx, before, after);
    takeHealth(tx, before, after, newId);
    jobs.set(jobKey(after.Namespace, after.JobID), after);
    if (isClientTerminal(after.ClientStatus) && !isClientTerminal(before.ClientStatus)) {
      freed = true;
      forgetServicesOf(tx, after.ID);
      if (wantsReplacement(tx, after)) failedJobs.set(jobKey(after.Namespace, after.JobID), after);
    }
    const node = tx.nodes.get(after.NodeID);
    if (node !== undefined && node.LastAllocUpdateIndex !== tx.index)
      tx.nodes.put(node.ID, { ...node, LastAllocUpdateIndex: tx.index });
  }
  for (const [key] of failedJobs) {
    const job = tx.jobs.get(key);
    if (job !== undefined) createEval(tx, newId(), job, "alloc-failure");
  }
  if (freed) unblockAll(tx);
  for (const alloc of jobs.values()) refreshJobStatus(tx, alloc.Namespace, alloc.JobID);
}

function merge(tx: Tx, before: Allocation, update: AllocUpdate): Allocation {
  const health = update.DeploymentStatus ?? before.DeploymentStatus;
  const changed = health !== null && !isDeepStrictEqual(strip(health), strip(before.DeploymentStatus));
  return {
    ...before,
    ClientStatus: update.ClientStatus,
    ClientDescription: update.ClientDescription,
    TaskStates: update.TaskStates ?? before.TaskStates,
    NetworkStatus: update.NetworkStatus ?? before.NetworkStatus,
    DeploymentStatus: changed ? { ...health, ModifyIndex: tx.index } : before.DeploymentStatus,
    ModifyIndex: tx.index,
    ModifyTime: tx.nowNs,
  };
}

function strip(status: Allocation["DeploymentStatus"]): unknown {
  return status === null ? null : [status.Healthy, status.Timestamp, status.Canary];
}

function takeHealth(tx: Tx, before: Allocation, after: Allocation, newId: () => string): void {
  if (after.DeploymentID === "" || before.DeploymentStatus === after.DeploymentStatus) return;
  const deployment = tx.deployments.get(after.DeploymentID);
  if (deployment === undefined || !isDeploymentActive(deployment)) return;
  const counted = countHealth(deployment, before, after);
  if (counted === undefined) return;
  putDeployment(tx, counted, "DeploymentAllocHealth");
  const job = tx.jobs.get(jobKey(after.Namespace, after.JobID));
  if (job !== undefined && !hasPending(tx, job))
    createEval(tx, newId(), job, "deployment-watcher", { DeploymentID: deployment.ID });
}

function hasPending(tx: Tx, job: Job): boolean {
  return tx.evals
    .by("job", jobKey(job.Namespace, job.ID))
    .some((evaluation) => evaluation.Status === "pending" && evaluation.WaitUntil === null);
}

function wantsReplacement(tx: Tx, alloc: Allocation): boolean {
  const job = tx.jobs.get(jobKey(alloc.Namespace, alloc.JobID));
  if (job === undefined || job.Stop || alloc.DesiredStatus !== "run" || alloc.ClientStatus !== "failed") return false;
  if (job.Type !== "service" && job.Type !== "batch") return false;
  const policy = job.TaskGroups?.find((group) => group.Name === alloc.TaskGroup)?.ReschedulePolicy ?? null;
  return decideReschedule(alloc, policy).kind === "at";
}

/** Room appeared, or the node changed: everything that waits for room is tried again. */
export function unblockAll(tx: Tx): void {
  for (const evaluation of tx.evals.by("status", "blocked")) {
    if (!isEvalTerminal(evaluation))
      updateEval(tx, evaluation, { Status: "pending", StatusDescription: "", FailedTGAllocs: null });
  }
}
