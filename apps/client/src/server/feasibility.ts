import type { AllocMetric, Constraint, Job, Node, TaskGroup } from "@outrider/nomad-structs";
import { AllocMetricStruct, make } from "@outrider/nomad-structs";
import { constraintText, inDatacenter, meetsConstraint } from "./constraints.ts";

/** Metrics of one placement attempt on the only node. */
export function newMetric(job: Job, node: Node | undefined): AllocMetric {
  const here = node !== undefined && inDatacenter(job.Datacenters, node.Datacenter) && inPool(job, node);
  return make(AllocMetricStruct, {
    NodesEvaluated: here ? 1 : 0,
    NodesInPool: node !== undefined && inPool(job, node) ? 1 : 0,
    NodePool: job.NodePool,
    NodesAvailable: node === undefined ? {} : { [node.Datacenter]: here ? 1 : 0 },
  });
}

/** Why a group cannot run on a node whatever its load: fills the metric and answers false. */
export function isFeasible(job: Job, group: TaskGroup, node: Node | undefined, metric: AllocMetric): node is Node {
  if (node === undefined || node.Status !== "ready" || node.SchedulingEligibility !== "eligible") {
    metric.NodesEvaluated = 0;
    metric.NodesAvailable = {};
    return false;
  }
  if (metric.NodesEvaluated === 0) return false;
  const reason = firstReason(job, group, node);
  if (reason === undefined) return true;
  metric.NodesFiltered = 1;
  metric.ConstraintFiltered = { [reason]: 1 };
  return false;
}

function inPool(job: Job, node: Node): boolean {
  return (
    job.NodePool === "all" || job.NodePool === "" || job.NodePool === (node.NodePool === "" ? "default" : node.NodePool)
  );
}

function firstReason(job: Job, group: TaskGroup, node: Node): string | undefined {
  for (const task of group.Tasks ?? []) {
    const driver = node.Drivers?.[task.Driver];
    if (driver === undefined || !driver.Detected || !driver.Healthy) return "missing drivers";
  }
  for (const network of group.Networks ?? []) {
    for (const port of [...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])]) {
      if (port.HostNetwork !== "" && port.HostNetwork !== "default")
        return `missing host network "${port.HostNetwork}" for port "${port.Label}"`;
    }
  }
  const constraints: Constraint[] = [
    ...(job.Constraints ?? []),
    ...(group.Constraints ?? []),
    ...(group.Tasks ?? []).flatMap((task) => task.Constraints ?? []),
  ];
  const failed = constraints.find((constraint) => !meetsConstraint(constraint, node));
  return failed === undefined ? undefined : constraintText(failed);
}
