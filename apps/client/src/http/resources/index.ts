import type { ApiContext } from "../api-context.ts";
import type { Resource } from "../api-types.ts";
import { agentResources } from "./agent.ts";
import { allocationResources } from "./allocations.ts";
import { clientAllocationResource } from "./client-allocation.ts";
import { clientFsResource } from "./client-fs.ts";
import { deploymentResources } from "./deployments.ts";
import { evaluationResources } from "./evaluations.ts";
import { eventStreamResource } from "./event-stream.ts";
import { jobResource } from "./job.ts";
import { jobsResources } from "./jobs.ts";
import { metricsResource } from "./metrics.ts";
import { nodeResources } from "./nodes.ts";
import { searchResource } from "./search.ts";
import { serviceResources } from "./services.ts";
import { unsupportedResources } from "./unsupported.ts";
import { variableResources } from "./variables.ts";

/** Every resource of the API. */
export function allResources(context: ApiContext): Resource[] {
  return [
    ...jobsResources(context),
    jobResource(context),
    ...allocationResources(context),
    ...evaluationResources(context),
    ...deploymentResources(context),
    ...nodeResources(context),
    clientAllocationResource(context),
    clientFsResource(context),
    ...agentResources(context),
    metricsResource(context),
    eventStreamResource(context),
    searchResource(context),
    ...serviceResources(context),
    ...variableResources(context),
    ...unsupportedResources(),
  ];
}
