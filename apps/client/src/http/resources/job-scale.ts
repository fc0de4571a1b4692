import type { ApiContext } from "../api-context.ts";
import { answerQuery, tableIndex } from "../api-context.ts";
import { writeJson, type ApiRequest, type ApiResult } from "../api-types.ts";
import { asObject, numberField, parseJsonBody, textField } from "../json-body.ts";
import { jobKey } from "../../server/index.ts";
import { findJob } from "./job-reads.ts";
import { registerBody } from "./jobs.ts";

/** How many of each group there should be and are. */
export function scaleStatus(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
  return answerQuery(context, request, ["jobs", "allocs"], "job not found", () => {
    const job = findJob(context, request, id);
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

/** Sets how many of one group there should be. */
export async function scale(context: ApiContext, request: ApiRequest, id: string): Promise<ApiResult> {
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
