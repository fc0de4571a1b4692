import type { Job } from "@outrider/nomad-structs";
import { registerJob, type RegisterReply } from "./job-commands.ts";
import { serverError } from "./server-error.ts";
import { jobKey } from "./tables.ts";
import type { Tx } from "./tx.ts";

/** Largest payload of a dispatch, bytes. */
export const MAX_PAYLOAD_BYTES = 65_536;

/** What a dispatch gives to the job. */
export interface DispatchRequest {
  /** Base64. */
  readonly payload: string | null;
  readonly meta: Readonly<Record<string, string>>;
  readonly idempotencyToken?: string;
  readonly idPrefixTemplate?: string;
  readonly priority?: number;
}

/** Answer to a dispatch. */
export interface DispatchReply extends RegisterReply {
  readonly dispatchedJobId: string;
  readonly jobCreateIndex: number;
}

/** Starts an instance of a parameterized job. */
export function dispatchJob(
  tx: Tx,
  namespace: string,
  id: string,
  request: DispatchRequest,
  newId: () => string,
): DispatchReply {
  const parent = tx.jobs.get(jobKey(namespace, id));
  if (parent === undefined)
    throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "parameterized job not found", { job: id });
  if (parent.ParameterizedJob === null || parent.Dispatched)
    throw invalid('Specified job "' + id + '" is not a parameterized job');
  if (parent.Stop) throw invalid('Specified job "' + id + '" is stopped');
  if ((request.idPrefixTemplate ?? "") !== "")
    throw serverError("ERR_OUTRIDER_SERVER_UNSUPPORTED", "dispatch: IdPrefixTemplate is not supported by this server");
  checkDispatch(parent, request);
  if (request.idempotencyToken !== undefined && request.idempotencyToken !== "") {
    const same = tx.jobs
      .by("parent", jobKey(namespace, id))
      .find((child) => child.DispatchIdempotencyToken === request.idempotencyToken);
    if (same !== undefined)
      return {
        evalId: "",
        evalCreateIndex: 0,
        jobModifyIndex: same.JobModifyIndex,
        index: tx.index,
        dispatchedJobId: same.ID,
        jobCreateIndex: same.CreateIndex,
      };
  }
  const childId = `${id}/dispatch-${Math.floor(tx.nowMs / 1000)}-${newId().slice(0, 8)}`;
  const child: Job = {
    ...parent,
    ID: childId,
    Name: childId,
    ParentID: id,
    Dispatched: true,
    DispatchIdempotencyToken: request.idempotencyToken ?? "",
    Payload: request.payload,
    Meta: { ...parent.Meta, ...request.meta },
    Priority: request.priority === undefined || request.priority === 0 ? parent.Priority : request.priority,
  };
  const reply = registerJob(tx, child, newId);
  return { ...reply, dispatchedJobId: childId, jobCreateIndex: tx.index };
}

function checkDispatch(parent: Job, request: DispatchRequest): void {
  const config = parent.ParameterizedJob as NonNullable<Job["ParameterizedJob"]>;
  const bytes = request.payload === null ? 0 : Buffer.from(request.payload, "base64").length;
  if (config.Payload === "required" && bytes === 0)
    throw invalid("Payload is not provided but required by parameterized job");
  if (config.Payload === "forbidden" && bytes > 0) throw invalid("Payload is not allowed by parameterized job");
  if (bytes > MAX_PAYLOAD_BYTES) throw invalid(`Payload exceeds maximum size; ${bytes} > ${MAX_PAYLOAD_BYTES}`);
  const given = Object.keys(request.meta);
  const required = config.MetaRequired ?? [];
  const allowed = new Set([...required, ...(config.MetaOptional ?? [])]);
  const missing = required.filter((key) => !given.includes(key));
  if (missing.length > 0) throw invalid(`Dispatch did not provide required meta keys: [${missing.join(" ")}]`);
  const unpermitted = given.filter((key) => !allowed.has(key)).sort();
  if (unpermitted.length > 0)
    throw invalid(`Dispatch request included unpermitted metadata keys: [${unpermitted.join(" ")}]`);
}

function invalid(text: string): Error {
  return serverError("ERR_OUTRIDER_SERVER_INVALID", text);
}

/** Starts a run of a periodic job now, as if its time had come. */
export function launchPeriodic(tx: Tx, job: Job, atMs: number, newId: () => string): RegisterReply {
  const childId = `${job.ID}/periodic-${Math.floor(atMs / 1000)}`;
  const child: Job = { ...job, ID: childId, Name: childId, ParentID: job.ID, Periodic: null };
  const launch = { Namespace: job.Namespace, ID: job.ID, LaunchMs: atMs };
  tx.launches.put(jobKey(job.Namespace, job.ID), launch);
  return registerJob(tx, child, newId, { trigger: "periodic-job" });
}
