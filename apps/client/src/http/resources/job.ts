import type { Job } from "@outrider/nomad-structs";
import type { ApiContext } from "../api-context.ts";
import { answerQuery, tableIndex } from "../api-context.ts";
import {
  change,
  writeJson,
  type ApiHandler,
  type ApiMethod,
  type ApiRequest,
  type ApiResult,
  type Resource,
} from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import { asObject, numberField, parseJsonBody, parseOptionalJsonBody, textField } from "../json-body.ts";
import { jobKey, versionKey } from "../../server/index.ts";
import { JOB_BODY_LIMIT, readSubmit, registerBody } from "./jobs.ts";
import { showAllocStub, showDeployment, showEval, showJob, showSummary } from "./shapes.ts";

type Methods = Readonly<Partial<Record<ApiMethod, ApiHandler>>>;

/** Sub-resources of a job, longest first: ids may hold slashes, as those of dispatched jobs do. */
const SUFFIXES = [
  "periodic/force",
  "allocations",
  "deployments",
  "deployment",
  "evaluations",
  "evaluate",
  "submission",
  "versions",
  "dispatch",
  "summary",
  "revert",
  "scale",
  "plan",
  "stable",
  "actions",
  "services",
] as const;
type Suffix = (typeof SUFFIXES)[number] | "";

/** `/v1/job/:id` and everything below it. */
export function jobResource(context: ApiContext): Resource {
  const by = handlers(context);
  const route: ApiHandler = (request) => {
    const { id, suffix } = splitPath(request);
    const handler = by(id)[suffix]?.[request.method];
    if (handler === undefined) throw new HttpError(405, "Invalid method");
    return handler(request);
  };
  return {
    path: "/v1/job/*",
    bodyLimit: JOB_BODY_LIMIT,
    methods: { GET: route, PUT: route, POST: route, DELETE: route },
  };
}

function splitPath(request: ApiRequest): { readonly id: string; readonly suffix: Suffix } {
  const path = (request.path["*"] ?? "").replace(/\/$/, "");
  for (const suffix of SUFFIXES)
    if (path.endsWith(`/${suffix}`)) return { id: checked(path.slice(0, -suffix.length - 1)), suffix };
  return { id: checked(path), suffix: "" };
}

function checked(id: string): string {
  if (id === "") throw new HttpError(400, "Missing job ID");
  return id;
}

function handlers(context: ApiContext): (id: string) => Partial<Record<Suffix, Methods>> {
  const { server } = context;
  return (id) => ({
    "": {
      GET: (r) => showOne(context, r, id),
      DELETE: (r) => stopJob(context, r, id),
      ...change((r) => register(context, r, id)),
    },
    allocations: { GET: (r) => listAllocs(context, r, id) },
    evaluations: { GET: (r) => listEvals(context, r, id) },
    deployments: { GET: (r) => listDeployments(context, r, id) },
    deployment: { GET: (r) => latestDeployment(context, r, id) },
    summary: { GET: (r) => summary(context, r, id) },
    versions: { GET: (r) => versions(context, r, id) },
    submission: { GET: (r) => submission(context, r, id) },
    scale: { GET: (r) => scaleStatus(context, r, id), ...change((r) => scale(context, r, id)) },
    evaluate: change(async (r) => {
      const options = asObject(asObject(parseOptionalJsonBody(r.body))["EvalOptions"] ?? {});
      const reply = await server.evaluate(r.query.namespace, id, {
        forceReschedule: options["ForceReschedule"] === true,
      });
      return writeJson(registerBody(reply), reply.index);
    }),
    revert: change(async (r) => {
      const body = asObject(parseJsonBody(r.body));
      const version = numberField(body, "JobVersion");
      if (version === null) throw new HttpError(400, "JobVersion must be given");
      const reply = await server.revert(r.query.namespace, id, version, {
        enforcePriorVersion: numberField(body, "EnforcePriorVersion"),
      });
      return writeJson(registerBody(reply), reply.index);
    }),
    dispatch: change((r) => dispatch(context, r, id)),
    "periodic/force": change(async (r) => {
      const reply = await server.forcePeriodic(r.query.namespace, id);
      return writeJson(
        { EvalID: reply.evalId, EvalCreateIndex: reply.evalCreateIndex, Index: reply.index },
        reply.index,
      );
    }),
    plan: change(() => {
      throw new HttpError(501, "job plan is not supported by this server yet");
    }),
  });
}

function find(context: ApiContext, request: ApiRequest, id: string): Job | undefined {
  return context.server.state.tables.jobs.get(jobKey(request.query.namespace, id));
}

function showOne(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  return answerQuery(context, request, ["jobs"], "job not found", () => {
    const job = find(context, request, id);
    return {
      value: job === undefined ? undefined : showJob(job),
      index: job?.ModifyIndex ?? tableIndex(context, "jobs"),
    };
  });
}

async function register(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const { raw, options } = readSubmit(request);
  const given = (raw as { ID?: unknown }).ID;
  if (given !== id) throw new HttpError(400, "Job ID does not match name");
  const reply = await context.server.register(raw, options);
  return writeJson(registerBody(reply), reply.index);
}

async function stopJob(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const { params } = request;
  const evalPriority = params.integer("eval_priority") ?? 0;
  const reply = await context.server.deregister(request.query.namespace, id, {
    purge: params.flag("purge"),
    noShutdownDelay: params.flag("no_shutdown_delay"),
    evalPriority,
  });
  return writeJson(
    {
      EvalID: reply.evalId,
      EvalCreateIndex: reply.evalCreateIndex,
      JobModifyIndex: reply.jobModifyIndex,
      VolumeEvalID: "",
      VolumeEvalIndex: 0,
      Index: reply.index,
      LastContact: 0,
      KnownLeader: false,
      NextToken: "",
    },
    reply.index,
  );
}

function listAllocs(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const all = request.params.flag("all");
  return answerQuery(context, request, ["allocs"], "", () => {
    const job = find(context, request, id);
    const rows = context.server.state.tables.allocs
      .by("job", jobKey(request.query.namespace, id))
      .filter((alloc) => all || job === undefined || alloc.Job === null || alloc.Job.CreateIndex === job.CreateIndex);
    return { value: rows.sort(byId).map((alloc) => showAllocStub(alloc)), index: tableIndex(context, "allocs") };
  });
}

function listEvals(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  return answerQuery(context, request, ["evals"], "", () => ({
    value: context.server.state.tables.evals.by("job", jobKey(request.query.namespace, id)).sort(byId).map(showEval),
    index: tableIndex(context, "evals"),
  }));
}

function listDeployments(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const all = request.params.flag("all");
  return answerQuery(context, request, ["deployments"], "", () => {
    const job = find(context, request, id);
    const rows = context.server.state.tables.deployments
      .by("job", jobKey(request.query.namespace, id))
      .filter((d) => all || job === undefined || d.JobCreateIndex === job.CreateIndex);
    return { value: rows.sort(byId).map(showDeployment), index: tableIndex(context, "deployments") };
  });
}

function latestDeployment(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  return answerQuery<unknown>(context, request, ["deployments"], "", () => {
    const job = find(context, request, id);
    const rows = context.server.state.tables.deployments
      .by("job", jobKey(request.query.namespace, id))
      .filter((d) => job === undefined || d.JobCreateIndex === job.CreateIndex);
    const latest = rows.sort((a, b) => b.CreateIndex - a.CreateIndex)[0];
    return { value: latest === undefined ? null : showDeployment(latest), index: tableIndex(context, "deployments") };
  });
}

function summary(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  return answerQuery(context, request, ["summaries"], "job not found", () => {
    const row = context.server.state.tables.summaries.get(jobKey(request.query.namespace, id));
    return {
      value: row === undefined ? undefined : showSummary(row),
      index: row?.ModifyIndex ?? tableIndex(context, "summaries"),
    };
  });
}

function versions(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  if (request.params.flag("diffs"))
    throw new HttpError(501, "differences between versions are not supported by this server yet; ask without diffs");
  return answerQuery(context, request, ["versions", "jobs"], "job versions not found", () => {
    const job = find(context, request, id);
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

function submission(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const version = request.params.integer("version");
  return answerQuery(context, request, ["submissions", "jobs"], "job source not found", () => {
    const job = find(context, request, id);
    const row =
      job === undefined
        ? undefined
        : context.server.state.tables.submissions.get(versionKey({ ...job, Version: version ?? job.Version }));
    return { value: row, index: tableIndex(context, "submissions", "jobs") };
  });
}

function scaleStatus(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  return answerQuery(context, request, ["jobs", "allocs"], "job not found", () => {
    const job = find(context, request, id);
    if (job === undefined) return { value: undefined, index: tableIndex(context, "jobs", "allocs") };
    const allocs = context.server.state.tables.allocs
      .by("job", jobKey(job.Namespace, id))
      .filter(
        (alloc) =>
          alloc.DesiredStatus === "run" && alloc.ClientStatus !== "failed" && alloc.ClientStatus !== "complete",
      );
    const groups = (job.TaskGroups ?? []).map((group) => {
      const own = allocs.filter((alloc) => alloc.TaskGroup === group.Name);
      const health = (healthy: boolean): number =>
        own.filter((alloc) => alloc.DeploymentStatus?.Healthy === healthy).length;
      return [
        group.Name,
        {
          Desired: group.Count,
          Placed: own.length,
          Running: own.filter((alloc) => alloc.ClientStatus === "running").length,
          Healthy: health(true),
          Unhealthy: health(false),
          Events: null,
        },
      ] as const;
    });
    const value = {
      JobID: job.ID,
      Namespace: job.Namespace,
      JobCreateIndex: job.CreateIndex,
      JobModifyIndex: job.ModifyIndex,
      JobStopped: job.Stop,
      TaskGroups: Object.fromEntries(groups),
    };
    return { value, index: tableIndex(context, "jobs", "allocs") };
  });
}

async function scale(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const body = asObject(parseJsonBody(request.body));
  const target = asObject(body["Target"] ?? {});
  const reply = await context.server.scale(
    request.query.namespace,
    id,
    textField(target, "Group"),
    numberField(body, "Count"),
  );
  return writeJson(registerBody(reply), reply.index);
}

async function dispatch(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const body = asObject(parseOptionalJsonBody(request.body));
  const meta = asObject(body["Meta"] ?? {});
  for (const [key, value] of Object.entries(meta))
    if (typeof value !== "string") throw new HttpError(400, `Meta.${key} must be text`);
  const payload = textField(body, "Payload");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(payload)) throw new HttpError(400, "Payload must be base64");
  const reply = await context.server.dispatch(request.query.namespace, id, {
    payload: payload === "" ? null : payload,
    meta: meta as Record<string, string>,
    idempotencyToken: request.params.text("idempotency_token"),
    idPrefixTemplate: textField(body, "IdPrefixTemplate"),
    priority: numberField(body, "Priority") ?? 0,
  });
  return writeJson(
    {
      DispatchedJobID: reply.dispatchedJobId,
      EvalID: reply.evalId,
      EvalCreateIndex: reply.evalCreateIndex,
      JobCreateIndex: reply.jobCreateIndex,
      Index: reply.index,
    },
    reply.index,
  );
}

/** What some bodies repeat of the headers. */
function bodyMeta(index: number): Record<string, unknown> {
  return { Index: index, LastContact: 0, KnownLeader: true, NextToken: "" };
}

function byId(a: { readonly ID: string }, b: { readonly ID: string }): number {
  return a.ID < b.ID ? -1 : a.ID > b.ID ? 1 : 0;
}
