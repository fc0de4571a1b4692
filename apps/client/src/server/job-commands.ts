import type { Job, JobSubmission } from "@outrider/nomad-structs";
import { createEval, isEvalTerminal, updateEval, type EvalTrigger } from "./evaluations.ts";
import { withImpliedConstraints } from "./implied-constraints.ts";
import { isTemplateJob, refreshJobStatus } from "./job-status.ts";
import { serverError } from "./server-error.ts";
import { countChild, ensureSummary } from "./summaries.ts";
import { jobKey, versionKey } from "./tables.ts";
import { sameSpec } from "./tasks-updated.ts";
import type { Tx } from "./tx.ts";

/** Versions of a job that are kept. */
export const KEPT_VERSIONS = 6;
/** Longest source text that is kept with a version. */
export const MAX_SUBMISSION_BYTES = 1024 * 1024;

/** What a submit asks beside the job. */
export interface RegisterOptions {
  readonly enforceIndex?: boolean;
  readonly jobModifyIndex?: number;
  readonly preserveCounts?: boolean;
  readonly evalPriority?: number;
  readonly submission?: Pick<JobSubmission, "Source" | "Format" | "VariableFlags" | "Variables"> | null;
  readonly trigger?: EvalTrigger;
}

/** Answer to a submit. */
export interface RegisterReply {
  readonly evalId: string;
  readonly evalCreateIndex: number;
  readonly jobModifyIndex: number;
  readonly index: number;
}

/** Stores a job (a new version when it asks for something else than before) and the evaluation that will place it. */
export function registerJob(tx: Tx, given: Job, newId: () => string, o: RegisterOptions = {}): RegisterReply {
  const key = jobKey(given.Namespace, given.ID);
  const old = tx.jobs.get(key);
  checkIndex(old, o);
  let wanted = withImpliedConstraints(given);
  if (o.preserveCounts === true && old !== undefined) wanted = withCountsOf(wanted, old);
  const job = nextVersion(tx, old, wanted);
  if (job !== old) storeVersion(tx, job, old, o);
  const stored = tx.jobs.get(key) as Job;
  if (isTemplateJob(stored)) {
    refreshJobStatus(tx, stored.Namespace, stored.ID);
    return { evalId: "", evalCreateIndex: 0, jobModifyIndex: stored.JobModifyIndex, index: tx.index };
  }
  const evaluation = createEval(
    tx,
    newId(),
    stored,
    o.trigger ?? "job-register",
    o.evalPriority === undefined || o.evalPriority === 0 ? {} : { Priority: o.evalPriority },
  );
  refreshJobStatus(tx, stored.Namespace, stored.ID);
  return { evalId: evaluation.ID, evalCreateIndex: tx.index, jobModifyIndex: stored.JobModifyIndex, index: tx.index };
}

function checkIndex(old: Job | undefined, o: RegisterOptions): void {
  if (o.enforceIndex !== true) return;
  const want = o.jobModifyIndex ?? 0;
  if (want === 0 && old !== undefined) throw conflict(want, "job already exists");
  if (want !== 0 && old === undefined) throw conflict(want, "job does not exist");
  if (want !== 0 && old?.JobModifyIndex !== want)
    throw conflict(want, `job exists with conflicting job modify index: ${old?.JobModifyIndex ?? 0}`);
}

function conflict(index: number, why: string): Error {
  return serverError("ERR_OUTRIDER_SERVER_CONFLICT", `Enforcing job modify index ${index}: ${why}`, { index });
}

function withCountsOf(job: Job, old: Job): Job {
  const counts = new Map((old.TaskGroups ?? []).map((group) => [group.Name, group.Count]));
  return {
    ...job,
    TaskGroups: (job.TaskGroups ?? []).map((group) => ({ ...group, Count: counts.get(group.Name) ?? group.Count })),
  };
}

function nextVersion(tx: Tx, old: Job | undefined, wanted: Job): Job {
  const fresh = {
    ...wanted,
    Stable: false,
    SubmitTime: tx.nowNs,
    Status: "pending",
    StatusDescription: "",
    VersionTag: null,
  };
  if (old === undefined)
    return { ...fresh, Version: 0, CreateIndex: tx.index, ModifyIndex: tx.index, JobModifyIndex: tx.index };
  const candidate = {
    ...fresh,
    Version: old.Version + 1,
    CreateIndex: old.CreateIndex,
    ModifyIndex: tx.index,
    JobModifyIndex: tx.index,
    Status: old.Status,
  };
  return sameSpec(old, candidate) ? old : candidate;
}

function storeVersion(tx: Tx, job: Job, old: Job | undefined, o: RegisterOptions): void {
  const key = jobKey(job.Namespace, job.ID);
  tx.jobs.put(key, job);
  tx.putVersion(job);
  tx.event("Job", "JobRegistered", job.ID, job.Namespace, { Job: job });
  if (o.submission !== undefined && o.submission !== null && o.submission.Source.length <= MAX_SUBMISSION_BYTES) {
    const submission: JobSubmission = {
      ...o.submission,
      Namespace: job.Namespace,
      JobID: job.ID,
      Version: job.Version,
      JobModifyIndex: job.JobModifyIndex,
    };
    tx.submissions.put(versionKey(job), submission);
  }
  ensureSummary(tx, job);
  if (old === undefined) countChild(tx, job, undefined, job.Status);
  trimVersions(tx, job);
}

/** Drops old versions that no allocation runs any more; a stable one is always kept to go back to. */
function trimVersions(tx: Tx, job: Job): void {
  const key = jobKey(job.Namespace, job.ID);
  const versions = tx.versions
    .by("job", key)
    .filter((v) => v.CreateIndex === job.CreateIndex)
    .sort((a, b) => b.Version - a.Version);
  const used = new Set(tx.allocs.by("job", key).map((alloc) => alloc.Job?.Version));
  const stable = versions.find((v) => v.Stable);
  for (const version of versions.slice(KEPT_VERSIONS)) {
    if (version === stable || used.has(version.Version)) continue;
    tx.versions.delete(versionKey(version));
    tx.submissions.delete(versionKey(version));
  }
}

/** What a stop asks. */
export interface DeregisterOptions {
  readonly purge?: boolean;
  readonly noShutdownDelay?: boolean;
  readonly evalPriority?: number;
}

/** Stops a job, or removes it. Stopping what is stopped is fine. */
export function deregisterJob(
  tx: Tx,
  namespace: string,
  id: string,
  newId: () => string,
  o: DeregisterOptions = {},
): RegisterReply {
  const key = jobKey(namespace, id);
  const job = tx.jobs.get(key);
  if (job === undefined) throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "job not found", { job: id });
  const stopped = job.Stop
    ? job
    : {
        ...job,
        Stop: true,
        Stable: false,
        Version: job.Version + 1,
        SubmitTime: tx.nowNs,
        ModifyIndex: tx.index,
        JobModifyIndex: tx.index,
      };
  if (o.purge === true) {
    tx.jobs.delete(key);
    tx.summaries.delete(key);
    tx.launches.delete(key);
    countChild(tx, job, job.Status, undefined);
    for (const version of tx.versions.by("job", key))
      if (version.CreateIndex === job.CreateIndex) tx.submissions.delete(versionKey(version));
  } else if (stopped !== job) {
    tx.jobs.put(key, stopped);
    tx.putVersion(stopped);
    const submission = tx.submissions.get(versionKey(job));
    if (submission !== undefined)
      tx.submissions.put(versionKey(stopped), {
        ...submission,
        Version: stopped.Version,
        JobModifyIndex: stopped.JobModifyIndex,
      });
    trimVersions(tx, stopped);
  }
  tx.event("Job", "JobDeregistered", id, namespace, { Job: stopped });
  if (o.noShutdownDelay === true) skipDelays(tx, key);
  if (isTemplateJob(job)) {
    refreshJobStatus(tx, namespace, id);
    return { evalId: "", evalCreateIndex: 0, jobModifyIndex: stopped.JobModifyIndex, index: tx.index };
  }
  const evaluation = createEval(
    tx,
    newId(),
    { ...stopped, JobModifyIndex: tx.index },
    "job-deregister",
    o.evalPriority === undefined || o.evalPriority === 0 ? {} : { Priority: o.evalPriority },
  );
  for (const other of tx.evals.by("job", key)) {
    if (
      other.ID !== evaluation.ID &&
      !isEvalTerminal(other) &&
      (other.Status === "blocked" || other.WaitUntil !== null)
    )
      updateEval(tx, other, { Status: "canceled", StatusDescription: "job is stopped" });
  }
  refreshJobStatus(tx, namespace, id);
  return { evalId: evaluation.ID, evalCreateIndex: tx.index, jobModifyIndex: tx.index, index: tx.index };
}

function skipDelays(tx: Tx, key: string): void {
  for (const alloc of tx.allocs.by("job", key)) {
    tx.putDesired({ ...alloc, DesiredTransition: { ...alloc.DesiredTransition, NoShutdownDelay: true } });
  }
}

/** Makes the scheduler look at a job again. */
export function evaluateJob(
  tx: Tx,
  namespace: string,
  id: string,
  newId: () => string,
  o: { readonly forceReschedule?: boolean } = {},
): RegisterReply {
  const job = tx.jobs.get(jobKey(namespace, id));
  if (job === undefined) throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "job not found", { job: id });
  if (isTemplateJob(job)) {
    throw serverError(
      "ERR_OUTRIDER_SERVER_INVALID",
      job.Periodic === null ? "can't evaluate parameterized job" : "can't evaluate periodic job",
      { job: id },
    );
  }
  if (o.forceReschedule === true) {
    for (const alloc of tx.allocs.by("job", jobKey(namespace, id))) {
      if (alloc.ClientStatus === "failed" && alloc.DesiredStatus === "run" && alloc.NextAllocation === "") {
        tx.putDesired({ ...alloc, DesiredTransition: { ...alloc.DesiredTransition, ForceReschedule: true } });
      }
    }
  }
  const evaluation = createEval(tx, newId(), job, "job-register");
  refreshJobStatus(tx, namespace, id);
  return { evalId: evaluation.ID, evalCreateIndex: tx.index, jobModifyIndex: job.JobModifyIndex, index: tx.index };
}

/** Goes back to an earlier version of a job, which becomes the newest one. */
export function revertJob(
  tx: Tx,
  namespace: string,
  id: string,
  version: number,
  newId: () => string,
  o: { readonly enforcePriorVersion?: number | null } = {},
): RegisterReply {
  const job = tx.jobs.get(jobKey(namespace, id));
  if (job === undefined) throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "job not found", { job: id });
  if (o.enforcePriorVersion !== undefined && o.enforcePriorVersion !== null && o.enforcePriorVersion !== job.Version) {
    throw serverError(
      "ERR_OUTRIDER_SERVER_CONFLICT",
      `Current job has version ${job.Version}; enforcing version ${o.enforcePriorVersion}`,
      { job: id },
    );
  }
  if (version === job.Version)
    throw serverError("ERR_OUTRIDER_SERVER_INVALID", `can't revert to current version`, { job: id, version });
  const target = tx.versions.get(versionKey({ ...job, Version: version }));
  if (target === undefined)
    throw serverError(
      "ERR_OUTRIDER_SERVER_NOT_FOUND",
      `job ${JSON.stringify(id)} in namespace ${JSON.stringify(namespace)} at version ${version} not found`,
      { job: id, version },
    );
  const submission = tx.submissions.get(versionKey(target));
  return registerJob(tx, { ...target, Stop: false }, newId, { submission: submission ?? null });
}

/** Sets the count of a group. `judge` throws when the job may not have it. */
export function scaleJob(
  tx: Tx,
  namespace: string,
  id: string,
  group: string,
  count: number | null,
  newId: () => string,
  judge: (job: Job) => void,
): RegisterReply {
  const job = tx.jobs.get(jobKey(namespace, id));
  if (job === undefined) throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "job not found", { job: id });
  if (!(job.TaskGroups ?? []).some((g) => g.Name === group))
    throw serverError(
      "ERR_OUTRIDER_SERVER_INVALID",
      `task group ${JSON.stringify(group)} specified for scaling does not exist in job`,
      { job: id, group },
    );
  if (count === null) return { evalId: "", evalCreateIndex: 0, jobModifyIndex: job.JobModifyIndex, index: tx.index };
  const scaled = {
    ...job,
    TaskGroups: (job.TaskGroups ?? []).map((g) => (g.Name === group ? { ...g, Count: count } : g)),
  };
  judge(scaled);
  return registerJob(tx, scaled, newId, { trigger: "job-scaling" });
}
