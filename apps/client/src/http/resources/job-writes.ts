import type { ApiContext } from "../api-context.ts";
import { writeJson, type ApiRequest, type ApiResult } from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import { asObject, numberField, parseJsonBody, parseOptionalJsonBody, textField } from "../json-body.ts";
import { readSubmit, registerBody } from "./jobs.ts";

/** Takes a new version of the job. */
export async function register(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const { raw, options } = readSubmit(request);
  const given = (raw as { ID?: unknown }).ID;
  if (given !== id) throw new HttpError(400, "Job ID does not match name");
  const reply = await context.server.register(raw, options);
  return writeJson(registerBody(reply), reply.index);
}

/** Stops the job, or removes it. */
export async function stopJob(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
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

/** Looks again where its allocations could run. */
export async function evaluate(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const options = asObject(asObject(parseOptionalJsonBody(request.body))["EvalOptions"] ?? {});
  const reply = await context.server.evaluate(request.query.namespace, id, {
    forceReschedule: options["ForceReschedule"] === true,
  });
  return writeJson(registerBody(reply), reply.index);
}

/** Makes an older version the newest one. */
export async function revert(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const body = asObject(parseJsonBody(request.body));
  const version = numberField(body, "JobVersion");
  if (version === null) throw new HttpError(400, "JobVersion must be given");
  const reply = await context.server.revert(request.query.namespace, id, version, {
    enforcePriorVersion: numberField(body, "EnforcePriorVersion"),
  });
  return writeJson(registerBody(reply), reply.index);
}

/** Starts a periodic job now. */
export async function forcePeriodic(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  const reply = await context.server.forcePeriodic(request.query.namespace, id);
  return writeJson({ EvalID: reply.evalId, EvalCreateIndex: reply.evalCreateIndex, Index: reply.index }, reply.index);
}

/** Starts one run of a parameterized job. */
export async function dispatch(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
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
