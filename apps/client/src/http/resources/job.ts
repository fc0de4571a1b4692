import type { ApiContext } from "../api-context.ts";
import {
  change,
  type ApiHandler,
  type ApiMethod,
  type ApiRequest,
  type ApiResult,
  type Resource,
} from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import {
  latestDeployment,
  listAllocs,
  listDeployments,
  listEvals,
  showOne,
  submission,
  summary,
  versions,
} from "./job-reads.ts";
import { scale, scaleStatus } from "./job-scale.ts";
import { dispatch, evaluate, forcePeriodic, register, revert, stopJob } from "./job-writes.ts";
import { JOB_BODY_LIMIT } from "./jobs.ts";
import { notSupported } from "./unsupported.ts";

type JobHandler = (context: ApiContext, request: ApiRequest, id: string) => ApiResult | Promise<ApiResult>;
type Methods = Readonly<Partial<Record<ApiMethod, JobHandler>>>;

const put = (handler: JobHandler): Methods => ({ PUT: handler, POST: handler });

/** What there is below a job. Ids may hold slashes, as those of dispatched jobs do, so paths are told apart by their ends. */
const SUB_RESOURCES: Readonly<Record<string, Methods>> = {
  "periodic/force": put(forcePeriodic),
  allocations: { GET: listAllocs },
  deployments: { GET: listDeployments },
  deployment: { GET: latestDeployment },
  evaluations: { GET: listEvals },
  evaluate: put(evaluate),
  submission: { GET: submission },
  versions: { GET: versions },
  dispatch: put(dispatch),
  summary: { GET: summary },
  revert: put(revert),
  scale: { GET: scaleStatus, ...put(scale) },
};
const ITSELF: Methods = { GET: showOne, DELETE: stopJob, ...put(register) };
/** What Nomad has there and this server has not. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  plan: "job plan",
  stable: "marking a version as stable",
  actions: "actions of jobs",
  action: "actions of jobs",
  services: "listing the services of one job",
};
/** `<id>/versions/<tag>/tag`. */
const TAG = /\/versions\/[^/]+\/tag$/;

/** `/v1/job/:id` and everything below it. */
export function jobResource(context: ApiContext): Resource {
  const route: ApiHandler = (request) => {
    const { id, methods } = find((request.path["*"] ?? "").replace(/\/$/, ""));
    if (id === "") throw new HttpError(400, "Missing job ID");
    const handler = methods[request.method];
    if (handler === undefined) throw new HttpError(405, "Invalid method");
    return handler(context, request, id);
  };
  return {
    path: "/v1/job/*",
    bodyLimit: JOB_BODY_LIMIT,
    methods: { GET: route, DELETE: route, ...change(route) },
  };
}

function find(path: string): { readonly id: string; readonly methods: Methods } {
  if (TAG.test(path)) throw notSupported("tagging versions");
  for (const [name, what] of Object.entries(UNSUPPORTED)) if (path.endsWith(`/${name}`)) throw notSupported(what);
  for (const [name, methods] of Object.entries(SUB_RESOURCES))
    if (path.endsWith(`/${name}`)) return { id: path.slice(0, -name.length - 1), methods };
  return { id: path, methods: ITSELF };
}
