import type { Deployment, Job } from "@outrider/nomad-structs";
import { isDeploymentActive, putDeployment } from "./deployments.ts";
import { createEval } from "./evaluations.ts";
import { registerJob } from "./job-commands.ts";
import { serverError } from "./server-error.ts";
import { jobKey, versionKey, type Tables } from "./tables.ts";
import type { Tx } from "./tx.ts";

/** Epoch ms at which the next running deployment runs out of time, or undefined. */
export function nextProgressDeadlineMs(tables: Tables): number | undefined {
  let next: number | undefined;
  for (const deployment of tables.deployments.by("status", "running")) {
    const at = deadlineOf(deployment);
    if (at !== undefined && (next === undefined || at < next)) next = at;
  }
  return next;
}

/** Fails the deployments whose time is up, and those with an unhealthy instance that have no time limit. */
export function failOverdueDeployments(tx: Tx, newId: () => string): void {
  for (const deployment of tx.deployments.by("status", "running")) {
    const at = deadlineOf(deployment);
    const states = Object.values(deployment.TaskGroups ?? {});
    if (at !== undefined && at <= tx.nowMs) failDeployment(tx, deployment, "Failed due to progress deadline", newId);
    else if (states.some((state) => state.ProgressDeadline === 0 && state.UnhealthyAllocs > 0))
      failDeployment(tx, deployment, "Failed due to unhealthy allocations", newId);
  }
}

function deadlineOf(deployment: Deployment): number | undefined {
  let next: number | undefined;
  for (const state of Object.values(deployment.TaskGroups ?? {})) {
    if (state.RequireProgressBy === null || state.HealthyAllocs >= state.DesiredTotal) continue;
    const at = Date.parse(state.RequireProgressBy);
    if (next === undefined || at < next) next = at;
  }
  return next;
}

/** Ends a deployment as failed, and goes back to the last stable version where the job asks for it. */
export function failDeployment(tx: Tx, deployment: Deployment, why: string, newId: () => string): string {
  const job = tx.jobs.get(jobKey(deployment.Namespace, deployment.JobID));
  const revert = Object.values(deployment.TaskGroups ?? {}).some((state) => state.AutoRevert);
  const stable = revert && job !== undefined ? lastStable(tx, job) : undefined;
  const text = !revert
    ? why
    : stable === undefined
      ? `${why} - no stable job version to auto revert to`
      : `${why} - rolling back to job version ${stable.Version}`;
  putDeployment(tx, { ...deployment, Status: "failed", StatusDescription: text });
  if (job === undefined) return "";
  if (stable !== undefined) {
    return registerJob(tx, { ...stable, Stop: false }, newId, {
      trigger: "deployment-watcher",
      submission: tx.submissions.get(versionKey(stable)) ?? null,
    }).evalId;
  }
  return createEval(tx, newId(), job, "deployment-watcher", { DeploymentID: deployment.ID }).ID;
}

function lastStable(tx: Tx, job: Job): Job | undefined {
  return tx.versions
    .by("job", jobKey(job.Namespace, job.ID))
    .filter((version) => version.CreateIndex === job.CreateIndex && version.Stable && version.Version !== job.Version)
    .sort((a, b) => b.Version - a.Version)[0];
}

/** Fails a deployment because the user said so. */
export function failDeploymentByUser(tx: Tx, id: string, newId: () => string): string {
  const deployment = tx.deployments.get(id);
  if (deployment === undefined)
    throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "deployment not found", { deployment: id });
  if (!isDeploymentActive(deployment))
    throw serverError("ERR_OUTRIDER_SERVER_INVALID", "can't fail terminal deployment", { deployment: id });
  return failDeployment(tx, deployment, "Deployment marked as failed", newId);
}
