import type { Job } from "@outrider/nomad-structs";
import type { ApiContext } from "../api-context.ts";
import { answerQuery, tableIndex } from "../api-context.ts";
import type { ApiRequest, ApiResult } from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import { jobKey, versionKey } from "../../server/index.ts";
import { showAllocStub, showDeployment, showEval, showJob, showSummary } from "./shapes.ts";

/** The job of a request. */
export function findJob(context: ApiContext, request: ApiRequest, id: string): Job | undefined {
  return context.server.state.tables.jobs.get(jobKey(request.query.namespace, id));
}

/** The job itself. */
export function showOne(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  return answerQuery(context, request, ["jobs"], "job not found", () => {
    const job = findJob(context, request, id);
    return {
      value: job === undefined ? undefined : showJob(job),
      index: job?.ModifyIndex ?? tableIndex(context, "jobs"),
    };
  });
}

/** Its allocations; of an older job of the same id only when all are asked for. */
export function listAllocs(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const all = request.params.flag("all");
  return answerQuery(context, request, ["allocs"], "", () => {
    const job = findJob(context, request, id);
    const rows = context.server.state.tables.allocs
      .by("job", jobKey(request.query.namespace, id))
      .filter((alloc) => all || job === undefined || alloc.Job === null || alloc.Job.CreateIndex === job.CreateIndex);
    return { value: rows.sort(byId).map((alloc) => showAllocStub(alloc)), index: tableIndex(context, "allocs") };
  });
}

/** Its evaluations. */
export function listEvals(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  return answerQuery(context, request, ["evals"], "", () => ({
    value: context.server.state.tables.evals.by("job", jobKey(request.query.namespace, id)).sort(byId).map(showEval),
    index: tableIndex(context, "evals"),
  }));
}

/** Its deployments; of an older job of the same id only when all are asked for. */
export function listDeployments(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const all = request.params.flag("all");
  return answerQuery(context, request, ["deployments"], "", () => {
    const job = findJob(context, request, id);
    const rows = context.server.state.tables.deployments
      .by("job", jobKey(request.query.namespace, id))
      .filter((d) => all || job === undefined || d.JobCreateIndex === job.CreateIndex);
    return { value: rows.sort(byId).map(showDeployment), index: tableIndex(context, "deployments") };
  });
}

/** Its newest deployment, or null. */
export function latestDeployment(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  return answerQuery<unknown>(context, request, ["deployments"], "", () => {
    const job = findJob(context, request, id);
    const rows = context.server.state.tables.deployments
      .by("job", jobKey(request.query.namespace, id))
      .filter((d) => job === undefined || d.JobCreateIndex === job.CreateIndex);
    const latest = rows.sort((a, b) => b.CreateIndex - a.CreateIndex)[0];
    return { value: latest === undefined ? null : showDeployment(latest), index: tableIndex(context, "deployments") };
  });
}

/** How many allocations are in which state. */
export function summary(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  return answerQuery(context, request, ["summaries"], "job not found", () => {
    const row = context.server.state.tables.summaries.get(jobKey(request.query.namespace, id));
    return {
      value: row === undefined ? undefined : showSummary(row),
      index: row?.ModifyIndex ?? tableIndex(context, "summaries"),
    };
  });
}

/** Its versions, the newest first. */
export function versions(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  if (request.params.flag("diffs"))
    throw new HttpError(501, "differences between versions are not supported by this server yet; ask without diffs");
  return answerQuery(context, request, ["versions", "jobs"], "job versions not found", () => {
    const job = findJob(context, request, id);
    const rows = context.server.state.tables.versions
      .by("job", jobKey(request.query.namespace, id))
      .filter((v) => v.CreateIndex === job?.CreateIndex);
    const index = job?.ModifyIndex ?? tableIndex(context, "jobs");
    const current = (v: Job): Job => (v.Version === job?.Version ? job : v);
    const value =
      rows.length === 0
        ? undefined
        : {
            Versions: rows.sort((a, b) => b.Version - a.Version).map((v) => showJob(current(v))),
            Diffs: null,
            ...bodyMeta(index),
          };
    return { value, index };
  });
}

/** The file that it came from. */
export function submission(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const version = request.params.integer("version");
  return answerQuery(context, request, ["submissions", "jobs"], "job source not found", () => {
    const job = findJob(context, request, id);
    const row =
      job === undefined
        ? undefined
        : context.server.state.tables.submissions.get(versionKey({ ...job, Version: version ?? job.Version }));
    return { value: row, index: tableIndex(context, "submissions", "jobs") };
  });
}

/** What some bodies repeat of the headers. */
function bodyMeta(index: number): Record<string, unknown> {
  return { Index: index, LastContact: 0, KnownLeader: true, NextToken: "" };
}

function byId(a: { readonly ID: string }, b: { readonly ID: string }): number {
  return a.ID < b.ID ? -1 : a.ID > b.ID ? 1 : 0;
}
