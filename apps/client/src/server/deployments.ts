import type { Allocation, Deployment, DeploymentState, Job, TaskGroup } from "@outrider/nomad-structs";
import { DeploymentStateStruct, DeploymentStruct, make } from "@outrider/nomad-structs";
import type { Tx } from "./tx.ts";
import { jobKey, versionKey } from "./tables.ts";

const MS_NS = 1_000_000;

/** Whether a deployment still changes. */
export function isDeploymentActive(deployment: Deployment): boolean {
  return (
    deployment.Status === "running" ||
    deployment.Status === "paused" ||
    deployment.Status === "pending" ||
    deployment.Status === "blocked"
  );
}

/** The newest deployment of a job. */
export function latestDeployment(tx: Tx, job: Job): Deployment | undefined {
  let latest: Deployment | undefined;
  for (const deployment of tx.deployments.by("job", jobKey(job.Namespace, job.ID))) {
    if (deployment.JobCreateIndex !== job.CreateIndex) continue;
    if (latest === undefined || deployment.CreateIndex > latest.CreateIndex) latest = deployment;
  }
  return latest;
}

/** Whether updates of this group are watched as a deployment. */
export function isDeployed(job: Job, group: TaskGroup): boolean {
  return job.Type === "service" && group.Update !== null && group.Update.MaxParallel > 0;
}

/** A new running deployment of a job version; not stored yet. */
export function newDeployment(tx: Tx, id: string, job: Job): Deployment {
  return make(DeploymentStruct, {
    ID: id,
    Namespace: job.Namespace,
    JobID: job.ID,
    JobVersion: job.Version,
    JobModifyIndex: job.ModifyIndex,
    JobSpecModifyIndex: job.JobModifyIndex,
    JobCreateIndex: job.CreateIndex,
    TaskGroups: {},
    Status: "running",
    StatusDescription: "Deployment is running",
    EvalPriority: job.Priority,
    CreateIndex: tx.index,
    ModifyIndex: tx.index,
    CreateTime: tx.nowNs,
    ModifyTime: tx.nowNs,
  });
}

/** How a deployment starts with one group. */
export function newDeploymentState(group: TaskGroup): DeploymentState {
  return make(DeploymentStateStruct, {
    AutoRevert: group.Update?.AutoRevert ?? false,
    AutoPromote: group.Update?.AutoPromote ?? false,
    ProgressDeadline: group.Update?.ProgressDeadline ?? 0,
    DesiredTotal: group.Count,
  });
}

/** Stores a changed deployment. */
export function putDeployment(tx: Tx, deployment: Deployment, type = "DeploymentStatusUpdate"): Deployment {
  const next = { ...deployment, ModifyIndex: tx.index, ModifyTime: tx.nowNs };
  tx.deployments.put(next.ID, next);
  tx.event("Deployment", type, next.ID, next.Namespace, { Deployment: next }, [next.JobID]);
  return next;
}

/** Counts placed allocations of a group; the first ones start the progress deadline. */
export function countPlaced(deployment: Deployment, group: string, placed: number, nowMs: number): Deployment {
  const state = deployment.TaskGroups?.[group];
  if (state === undefined || placed === 0) return deployment;
  const deadline =
    state.RequireProgressBy ?? (state.ProgressDeadline === 0 ? null : progressBy(nowMs, state.ProgressDeadline));
  const next = { ...state, PlacedAllocs: state.PlacedAllocs + placed, RequireProgressBy: deadline };
  return { ...deployment, TaskGroups: { ...deployment.TaskGroups, [group]: next } };
}

/** Takes a changed health of an allocation into its deployment's counts. Undefined: nothing changed. */
export function countHealth(deployment: Deployment, before: Allocation, after: Allocation): Deployment | undefined {
  const state = deployment.TaskGroups?.[after.TaskGroup];
  const [was, is] = [before.DeploymentStatus?.Healthy ?? null, after.DeploymentStatus?.Healthy ?? null];
  if (state === undefined || was === is) return undefined;
  const next = {
    ...state,
    HealthyAllocs: state.HealthyAllocs + (is === true ? 1 : 0) - (was === true ? 1 : 0),
    UnhealthyAllocs: state.UnhealthyAllocs + (is === false ? 1 : 0) - (was === false ? 1 : 0),
  };
  if (is === true && state.ProgressDeadline !== 0) {
    const at = after.DeploymentStatus?.Timestamp;
    next.RequireProgressBy = progressBy(
      at === null || at === undefined ? after.ModifyTime / MS_NS : Date.parse(at),
      state.ProgressDeadline,
    );
  }
  return { ...deployment, TaskGroups: { ...deployment.TaskGroups, [after.TaskGroup]: next } };
}

/** Notes that a job version has proved itself: it is what a failed update goes back to. */
export function markStable(tx: Tx, job: Job): void {
  const key = jobKey(job.Namespace, job.ID);
  const current = tx.jobs.get(key);
  if (current !== undefined && current.Version === job.Version)
    tx.jobs.put(key, { ...current, Stable: true, ModifyIndex: tx.index });
  const version = tx.versions.get(versionKey(job));
  if (version !== undefined) tx.putVersion({ ...version, Stable: true });
}

function progressBy(fromMs: number, deadlineNs: number): string {
  return new Date(fromMs + deadlineNs / MS_NS).toISOString();
}
