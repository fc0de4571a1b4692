import type { AllocMetric, Allocation, Job, Node, Resources, TaskGroup } from "@outrider/nomad-structs";
import { AllocationStruct, make, ResourcesStruct } from "@outrider/nomad-structs";
import { constraintText, COUNTING_OPERANDS } from "./constraints.ts";
import { isFeasible, newMetric } from "./feasibility.ts";
import { addAlloc, allocatedOf, capacityOf, demandOf, noUsage, type Capacity, type Usage } from "./node-usage.ts";
import { offerPorts } from "./ports.ts";

/** What a placement needs to know of its surroundings. */
export interface PlacementContext {
  readonly job: Job;
  readonly node: Node | undefined;
  readonly evalId: string;
  readonly deploymentId: string;
  readonly nowNs: number;
  readonly newId: () => string;
  readonly random: () => number;
}

/** A wanted allocation. */
export interface PlacementRequest {
  readonly group: TaskGroup;
  /** `job.group[index]`. */
  readonly name: string;
  readonly previous?: Allocation;
  readonly tracker?: Allocation["RescheduleTracker"];
}

/** A placed allocation, or why there is none. */
export type PlacementResult = { readonly alloc: Allocation } | { readonly failed: AllocMetric };

/** The only node with what is taken on it while a plan grows. */
export class NodeRoom {
  readonly #usage: Usage = noUsage();
  readonly #capacity: Capacity | undefined;
  readonly #allocs: Allocation[];

  /** `held`: allocations whose resources are not free yet. */
  constructor(node: Node | undefined, held: readonly Allocation[]) {
    this.#capacity = node === undefined ? undefined : capacityOf(node);
    this.#allocs = [...held];
    for (const alloc of held) addAlloc(this.#usage, alloc);
  }

  /** Places one allocation, or says why not. What is placed is taken. */
  place(context: PlacementContext, request: PlacementRequest): PlacementResult {
    const { job, node } = context;
    const { group } = request;
    const metric = newMetric(job, node);
    if (!isFeasible(job, group, node, metric)) return { failed: metric };
    const capacity = this.#capacity as Capacity;
    const counted = this.#countingReason(job, group);
    if (counted !== undefined) {
      metric.NodesFiltered = 1;
      metric.ConstraintFiltered = { [counted]: 1 };
      return { failed: metric };
    }
    const resources = allocatedOf(group);
    const demand = demandOf(resources);
    const dimension = this.#exhausted(demand, capacity);
    if (dimension !== undefined) return { failed: exhausted(metric, dimension, group) };
    const offer = offerPorts(group, capacity, this.#usage.ports, addressOf(node), context.random);
    if ("exhausted" in offer) return { failed: exhausted(metric, offer.exhausted, undefined) };
    resources.Shared.Networks = offer.networks;
    resources.Shared.Ports = offer.ports;
    metric.ScoreMetaData = [this.#score(node, demand, capacity)];
    const alloc = toAllocation(context, request, resources, metric);
    this.#allocs.push(alloc);
    addAlloc(this.#usage, alloc);
    return { alloc };
  }

  #exhausted(demand: { cpu: number; memoryMB: number; diskMB: number }, capacity: Capacity): string | undefined {
    if (this.#usage.cpu + demand.cpu > capacity.cpu) return "cpu";
    if (this.#usage.memoryMB + demand.memoryMB > capacity.memoryMB) return "memory";
    if (this.#usage.diskMB + demand.diskMB > capacity.diskMB) return "disk";
    return undefined;
  }

  /** `distinct_hosts` and `distinct_property`: with one node they bound how many may run. */
  #countingReason(job: Job, group: TaskGroup): string | undefined {
    const ofJob = this.#allocs.filter(
      (alloc) => alloc.JobID === job.ID && alloc.Namespace === job.Namespace && alloc.DesiredStatus === "run",
    );
    const scoped = [
      ...(job.Constraints ?? []).map((c) => ({ c, allocs: ofJob })),
      ...(group.Constraints ?? []).map((c) => ({ c, allocs: ofJob.filter((alloc) => alloc.TaskGroup === group.Name) })),
    ];
    const broken = scoped.find(({ c, allocs }) => {
      if (!COUNTING_OPERANDS.has(c.Operand)) return false;
      if (c.Operand === "distinct_hosts") return c.RTarget !== "false" && allocs.length > 0;
      return allocs.length >= (Number.parseInt(c.RTarget, 10) || 1);
    });
    return broken === undefined ? undefined : constraintText(broken.c);
  }

  #score(
    node: Node,
    demand: { cpu: number; memoryMB: number },
    capacity: Capacity,
  ): { NodeID: string; Scores: Record<string, number>; NormScore: number } {
    const free = (used: number, total: number): number => (total <= 0 ? 0 : Math.max(0, 1 - used / total));
    const total =
      10 ** free(this.#usage.cpu + demand.cpu, capacity.cpu) +
      10 ** free(this.#usage.memoryMB + demand.memoryMB, capacity.memoryMB);
    const binpack = Math.min(1, Math.max(0, (20 - total) / 18));
    return {
      NodeID: node.ID,
      Scores: { binpack, "job-anti-affinity": 0, "node-reschedule-penalty": 0, "node-affinity": 0 },
      NormScore: binpack,
    };
  }
}

function exhausted(metric: AllocMetric, dimension: string, group: TaskGroup | undefined): AllocMetric {
  metric.NodesExhausted = 1;
  metric.DimensionExhausted = { [dimension]: 1 };
  if (group !== undefined) {
    metric.ResourcesExhausted = Object.fromEntries(
      (group.Tasks ?? []).map((task) => [
        task.Name,
        make(ResourcesStruct, {
          CPU: task.Resources?.CPU ?? 0,
          MemoryMB: task.Resources?.MemoryMB ?? 0,
          MemoryMaxMB: task.Resources?.MemoryMaxMB ?? 0,
        }),
      ]),
    );
  }
  return metric;
}

function addressOf(node: Node): string {
  return node.Attributes?.["unique.network.ip-address"] ?? "127.0.0.1";
}

function toAllocation(
  context: PlacementContext,
  request: PlacementRequest,
  resources: NonNullable<Allocation["AllocatedResources"]>,
  metric: AllocMetric,
): Allocation {
  const { job } = context;
  const node = context.node as Node;
  const { group } = request;
  const shared = make(ResourcesStruct, { DiskMB: resources.Shared.DiskMB, Networks: resources.Shared.Networks });
  return make(AllocationStruct, {
    ID: context.newId(),
    Namespace: job.Namespace,
    EvalID: context.evalId,
    Name: request.name,
    NodeID: node.ID,
    NodeName: node.Name,
    JobID: job.ID,
    TaskGroup: group.Name,
    Resources: totalOf(group, resources),
    SharedResources: shared,
    TaskResources: Object.fromEntries(
      (group.Tasks ?? []).map((task) => [task.Name, task.Resources ?? make(ResourcesStruct)]),
    ),
    AllocatedResources: resources,
    Metrics: metric,
    DesiredStatus: "run",
    ClientStatus: "pending",
    PreviousAllocation: request.previous?.ID ?? "",
    DeploymentID: context.deploymentId,
    RescheduleTracker: request.tracker ?? null,
    CreateTime: context.nowNs,
    ModifyTime: context.nowNs,
  });
}

function totalOf(group: TaskGroup, resources: NonNullable<Allocation["AllocatedResources"]>): Resources {
  const total = make(ResourcesStruct, { DiskMB: resources.Shared.DiskMB, Networks: resources.Shared.Networks });
  for (const task of group.Tasks ?? []) {
    total.CPU += task.Resources?.CPU ?? 0;
    total.MemoryMB += task.Resources?.MemoryMB ?? 0;
    total.MemoryMaxMB +=
      task.Resources?.MemoryMaxMB === 0 ? task.Resources.MemoryMB : (task.Resources?.MemoryMaxMB ?? 0);
  }
  return total;
}
