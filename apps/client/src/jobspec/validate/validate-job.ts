import { parseCron } from "@outrider/cron-schedule";
import { encode, JOB_TYPES, JobStruct, type Job } from "@outrider/nomad-structs";
import { MAX_JOB_BYTES, MAX_JOB_DEPTH, MAX_JOB_NODES, MAX_JOB_WEIGHT } from "../limits.ts";
import { jobIdFault, MAX_NAME_BYTES } from "../names.ts";
import { checkGroup, MAX_COUNT } from "./group.ts";
import { checkAffinities, checkConstraints, checkSpreads } from "./placement.ts";
import { Report, type JobFieldError } from "./report.ts";

/** What exists on the server that validates. */
export interface ValidateOptions {
  /** Default `["default"]`. */
  readonly namespaces?: readonly string[];
  /** Default `["default"]`. */
  readonly nodePools?: readonly string[];
}

/** What {@link validateJob} found. */
export interface ValidateResult {
  readonly errors: readonly JobFieldError[];
  readonly warnings: readonly string[];
}

function checkPeriodic(job: Job, r: Report): void {
  const periodic = job.Periodic;
  if (periodic === null) return;
  const at = r.at("Periodic", "periodic");
  if (job.Type !== "batch" && job.Type !== "sysbatch") {
    at.error(
      "periodic-type",
      "",
      job.Type,
      `only batch and sysbatch jobs can be periodic, not ${JSON.stringify(job.Type)}`,
    );
  }
  if (periodic.SpecType !== "cron")
    at.error("periodic-spec-type", "SpecType", periodic.SpecType, "the kind of its spec must be cron");
  if (periodic.Spec !== "" && periodic.Specs?.length) at.error("periodic-both", "Specs", "", "has both cron and crons");
  const specs = periodic.Spec === "" ? (periodic.Specs ?? []) : [periodic.Spec];
  if (specs.length === 0) at.error("periodic-spec", "Spec", "", "needs a cron or crons");
  for (const [i, spec] of specs.entries()) {
    try {
      parseCron(spec, { timezone: periodic.TimeZone });
    } catch (error) {
      const key = periodic.Spec === "" ? `Specs[${i}]` : "Spec";
      at.error("periodic-cron", key, spec, `cron ${JSON.stringify(spec)}: ${(error as Error).message}`);
    }
  }
  if (job.ParameterizedJob !== null)
    at.error("periodic-parameterized", "", "", "a job cannot be periodic and parameterized");
}

function checkParameterized(job: Job, r: Report): void {
  const p = job.ParameterizedJob;
  if (p === null || job.Dispatched) return;
  const at = r.at("ParameterizedJob", "parameterized");
  if (job.Type !== "batch" && job.Type !== "sysbatch") {
    at.error(
      "parameterized-type",
      "",
      job.Type,
      `only batch and sysbatch jobs can be parameterized, not ${JSON.stringify(job.Type)}`,
    );
  }
  if (!["optional", "required", "forbidden"].includes(p.Payload)) {
    at.error("parameterized-payload", "Payload", p.Payload, "payload must be optional, required or forbidden");
  }
  const keys = [...(p.MetaRequired ?? []), ...(p.MetaOptional ?? [])];
  if (new Set(keys).size !== keys.length)
    at.error("parameterized-meta", "MetaOptional", keys.join(","), "names a meta key twice");
}

/** Depth, size and number of values: what is stored must be readable for ever. */
function checkSize(job: Job, r: Report): boolean {
  try {
    const text = JSON.stringify(encode(JobStruct, job, { maxDepth: MAX_JOB_DEPTH, maxNodes: MAX_JOB_NODES }));
    const instances = (job.TaskGroups ?? []).reduce((sum, group) => sum + group.Count, 0);
    if (text.length <= MAX_JOB_BYTES && instances <= MAX_COUNT && text.length * instances > MAX_JOB_WEIGHT)
      r.error(
        "job-weight",
        "",
        instances,
        `a job of ${text.length} characters is too large for ${instances} instances`,
      );
    if (text.length <= MAX_JOB_BYTES) return true;
    r.error("job-size", "", text.length, `the job has ${text.length} characters of JSON, more than ${MAX_JOB_BYTES}`);
  } catch (error) {
    const details = (error as { details?: { field?: string } }).details;
    r.error("job-size", details?.field ?? "", "", (error as Error).message);
  }
  return false;
}

function checkHead(job: Job, o: ValidateOptions, r: Report): void {
  const fault = jobIdFault(job.ID);
  if (fault !== undefined) r.error(fault.code, "ID", job.ID, `the job's ID ${JSON.stringify(job.ID)} ${fault.message}`);
  if (
    job.Name !== job.ID &&
    (job.Name === "" || Buffer.byteLength(job.Name) > MAX_NAME_BYTES || /[\p{C}\p{Zl}\p{Zp}]/u.test(job.Name))
  ) {
    r.error("job-name", "Name", job.Name, `the job's name must be a printable line of at most ${MAX_NAME_BYTES} bytes`);
  }
  if (!(JOB_TYPES as readonly string[]).includes(job.Type)) {
    r.error("job-type", "Type", job.Type, `the type must be ${JOB_TYPES.join(", ")}, got ${JSON.stringify(job.Type)}`);
  }
  if (job.Priority < 1 || job.Priority > 100) {
    r.error("job-priority", "Priority", job.Priority, `the priority must be between 1 and 100, got ${job.Priority}`);
  }
  if (!(o.namespaces ?? ["default"]).includes(job.Namespace)) {
    r.error("job-namespace", "Namespace", job.Namespace, `there is no namespace ${JSON.stringify(job.Namespace)}`);
  }
  if (!(o.nodePools ?? ["default"]).includes(job.NodePool)) {
    r.error("job-node-pool", "NodePool", job.NodePool, `there is no node pool ${JSON.stringify(job.NodePool)}`);
  }
  const zones = job.Datacenters ?? [];
  if (zones.length === 0 || zones.includes(""))
    r.error("job-datacenters", "Datacenters", zones, "needs datacenters with names");
}

/**
 * The checks a server makes before it stores a job. The job must be complete, as {@link canonicalizeJob} returns it.
 * All faults are collected (at most 200), each with its field.
 */
export function validateJob(job: Job, o: ValidateOptions = {}): ValidateResult {
  const r = new Report();
  if (!checkSize(job, r)) return r;
  checkHead(job, o, r);
  checkConstraints(job.Constraints, r);
  checkAffinities(job.Affinities, r);
  checkSpreads(job.Spreads, r);
  checkPeriodic(job, r);
  checkParameterized(job, r);
  const groups = job.TaskGroups ?? [];
  if (groups.length === 0) r.error("job-groups", "TaskGroups", "", "the job needs a group");
  const names = new Set<string>();
  for (const [i, group] of groups.entries()) {
    const at = r.at(`TaskGroups[${i}]`, `group ${JSON.stringify(group.Name)}`);
    if (names.has(group.Name)) at.error("group-duplicate", "Name", group.Name, "has the name of an earlier group");
    names.add(group.Name);
    checkGroup(group, job.Type, at);
  }
  const total = groups.reduce((sum, group) => sum + group.Count, 0);
  if (total > MAX_COUNT && groups.every((group) => group.Count <= MAX_COUNT))
    r.error("job-count", "TaskGroups", total, `the counts of all groups together must not be above ${MAX_COUNT}`);
  return { errors: r.errors, warnings: r.warnings };
}
