import type { ApiContext } from "../api-context.ts";
import { answerQuery, tableIndex } from "../api-context.ts";
import { change, json, writeJson, type ApiRequest, type ApiResult, type Resource } from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import { asObject, flagField, numberField, parseJsonBody, textField } from "../json-body.ts";
import { pageOf } from "../list-page.ts";
import { listErrors } from "../../server/index.ts";
import type { RegisterOptions } from "../../server/job-commands.ts";
import { jobKey } from "../../server/index.ts";
import { showJobStub } from "./shapes.ts";

/** Longest job body: a job with its source text beside it. */
export const JOB_BODY_LIMIT = 4 * 1024 * 1024;

/** `/v1/jobs`, `/v1/validate/job` and `/v1/jobs/parse`. */
export function jobsResources(context: ApiContext): Resource[] {
  return [
    {
      path: "/v1/jobs",
      bodyLimit: JOB_BODY_LIMIT,
      methods: { GET: (request) => listJobs(context, request), ...change((request) => registerJob(context, request)) },
    },
    {
      path: "/v1/validate/job",
      bodyLimit: JOB_BODY_LIMIT,
      methods: change((request) => validateJob(context, request)),
    },
    { path: "/v1/jobs/parse", bodyLimit: JOB_BODY_LIMIT, methods: change((request) => parseJob(context, request)) },
  ];
}

function listJobs(context: ApiContext, request: ApiRequest): Promise<ApiResult> {
  const { tables } = context.server.state;
  const withMeta = request.params.flag("meta");
  return answerQuery(context, request, ["jobs", "summaries"], "", () => {
    const { namespace, prefix } = request.query;
    const jobs = [...tables.jobs.values()].filter(
      (job) => (namespace === "*" || job.Namespace === namespace) && job.ID.startsWith(prefix),
    );
    const page = pageOf(
      jobs,
      request.query,
      (job) => [0, job.ID],
      (job) => showJobStub(job, tables.summaries.get(jobKey(job.Namespace, job.ID)), withMeta),
    );
    return { value: page.items, index: tableIndex(context, "jobs", "summaries"), headers: page.headers };
  });
}

/** Reads the body of a submit: the job itself, and how it is to be taken. */
export function readSubmit(request: ApiRequest): { readonly raw: unknown; readonly options: RegisterOptions } {
  const body = asObject(parseJsonBody(request.body));
  const job = body["Job"];
  if (typeof job !== "object" || job === null || Array.isArray(job)) throw new HttpError(400, "Job must be specified");
  const submission = body["Submission"];
  const read = submission === undefined || submission === null ? null : asObject(submission);
  const jobModifyIndex = numberField(body, "JobModifyIndex");
  const evalPriority = numberField(body, "EvalPriority");
  return {
    raw: job,
    options: {
      enforceIndex: flagField(body, "EnforceIndex"),
      preserveCounts: flagField(body, "PreserveCounts"),
      ...(jobModifyIndex === null ? {} : { jobModifyIndex }),
      ...(evalPriority === null ? {} : { evalPriority }),
      submission:
        read === null
          ? null
          : {
              Source: textField(read, "Source"),
              Format: textField(read, "Format"),
              VariableFlags: textMap(read["VariableFlags"]),
              Variables: textField(read, "Variables"),
            },
    },
  };
}

function textMap(value: unknown): Record<string, string> | null {
  if (value === undefined || value === null) return null;
  const entries = Object.entries(asObject(value));
  for (const [key, item] of entries)
    if (typeof item !== "string") throw new HttpError(400, `VariableFlags.${key} must be text`);
  return Object.fromEntries(entries as Array<[string, string]>);
}

async function registerJob(context: ApiContext, request: ApiRequest): Promise<ApiResult> {
  const { raw, options } = readSubmit(request);
  const reply = await context.server.register(raw, options);
  return writeJson(registerBody(reply), reply.index);
}

/** Answer of everything that registers a job. */
export function registerBody(reply: {
  readonly evalId: string;
  readonly evalCreateIndex: number;
  readonly jobModifyIndex: number;
  readonly index: number;
  readonly warnings?: readonly string[];
}): Record<string, unknown> {
  return {
    EvalID: reply.evalId,
    EvalCreateIndex: reply.evalCreateIndex,
    JobModifyIndex: reply.jobModifyIndex,
    Warnings: formatWarnings(reply.warnings ?? []),
    Index: reply.index,
    LastContact: 0,
    KnownLeader: false,
    NextToken: "",
  };
}

/** Warnings as Nomad's clients print them. */
export function formatWarnings(warnings: readonly string[]): string {
  if (warnings.length === 0) return "";
  return `${warnings.length} warning${warnings.length === 1 ? "" : "s"}:\n\n${warnings.map((warning) => `* ${warning}`).join("\n")}`;
}

function validateJob(context: ApiContext, request: ApiRequest): ApiResult {
  const { raw } = readSubmit(request);
  const { errors, warnings } = context.server.validate(raw);
  return json({
    DriverConfigValidated: true,
    ValidationErrors: errors.length === 0 ? null : errors,
    Error: errors.length === 0 ? "" : listErrors(errors),
    Warnings: formatWarnings(warnings),
  });
}

function parseJob(context: ApiContext, request: ApiRequest): ApiResult {
  const body = asObject(parseJsonBody(request.body));
  const source = textField(body, "JobHCL");
  if (source === "") throw new HttpError(400, "Job spec is empty");
  if (context.parseHcl === undefined)
    throw new HttpError(501, "this agent does not parse job files; give it a job as JSON");
  try {
    return json(context.parseHcl(source, textField(body, "Variables")));
  } catch (reason) {
    throw new HttpError(400, `Failed to parse job: ${reason instanceof Error ? reason.message : String(reason)}`);
  }
}
