import type { MetricsSink } from "@outrider/hook-telemetry";
import type { Allocation, Node } from "@outrider/nomad-structs";
import { isClientTerminal } from "@outrider/nomad-structs";
import type { NodeCounts } from "../node/index.ts";
import { addAlloc, noUsage } from "../server/node-usage.ts";

/** Labels of a node that all its metrics carry. */
export function nodeLabels(node: Node): Record<string, string> {
  return {
    node_id: node.ID,
    datacenter: node.Datacenter,
    node_class: node.NodeClass === "" ? "none" : node.NodeClass,
    node_pool: node.NodePool === "" ? "default" : node.NodePool,
  };
}

/** Sets the level metrics of the node: how many allocations and tasks, and what of the machine they hold. */
export function setNodeGauges(
  sink: Required<MetricsSink>,
  node: Node,
  counts: NodeCounts,
  allocs: readonly Allocation[],
): void {
  const labels = {
    ...nodeLabels(node),
    node_status: node.Status,
    node_scheduling_eligibility: node.SchedulingEligibility,
  };
  const gauge = (name: string, value: number): void => sink.setGauge(`nomad.client.${name}`, value, labels);
  for (const state of ["migrating", "blocked", "pending", "running", "terminal"] as const)
    gauge(`allocations.${state}`, counts[state]);
  for (const state of ["pending", "running", "dead"] as const) gauge(`tasks.${state}`, counts.tasks[state]);
  const usage = noUsage();
  let maxMemory = 0;
  for (const alloc of allocs) {
    if (isClientTerminal(alloc.ClientStatus)) continue;
    addAlloc(usage, alloc);
    maxMemory += alloc.Resources?.MemoryMaxMB ?? 0;
  }
  const has = node.NodeResources;
  const kept = node.ReservedResources;
  gauge("allocated.cpu", usage.cpu);
  gauge("allocated.memory", usage.memoryMB);
  gauge("allocated.max_memory", maxMemory);
  gauge("allocated.disk", usage.diskMB);
  gauge("unallocated.cpu", (has?.Cpu.CpuShares ?? 0) - (kept?.Cpu.CpuShares ?? 0) - usage.cpu);
  gauge("unallocated.memory", (has?.Memory.MemoryMB ?? 0) - (kept?.Memory.MemoryMB ?? 0) - usage.memoryMB);
  gauge("unallocated.disk", (has?.Disk.DiskMB ?? 0) - (kept?.Disk.DiskMB ?? 0) - usage.diskMB);
}
