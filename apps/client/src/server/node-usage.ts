import type { AllocatedResources, Allocation, Node, TaskGroup } from "@outrider/nomad-structs";

/** What is taken, or asked for, on a node. */
export interface Usage {
  /** MHz. */
  cpu: number;
  memoryMB: number;
  diskMB: number;
  readonly ports: Set<number>;
}

/** What a node has for tasks. */
export interface Capacity {
  readonly cpu: number;
  readonly memoryMB: number;
  readonly diskMB: number;
  readonly minDynamicPort: number;
  readonly maxDynamicPort: number;
  readonly reservedPorts: ReadonlySet<number>;
}

/** Room of a node, reserved parts taken off. */
export function capacityOf(node: Node): Capacity {
  const { NodeResources: has, ReservedResources: kept } = node;
  return {
    cpu: (has?.Cpu.CpuShares ?? 0) - (kept?.Cpu.CpuShares ?? 0),
    memoryMB: (has?.Memory.MemoryMB ?? 0) - (kept?.Memory.MemoryMB ?? 0),
    diskMB: (has?.Disk.DiskMB ?? 0) - (kept?.Disk.DiskMB ?? 0),
    minDynamicPort: has?.MinDynamicPort ?? 20_000,
    maxDynamicPort: has?.MaxDynamicPort ?? 32_000,
    reservedPorts: parsePorts(kept?.Networks.ReservedHostPorts ?? ""),
  };
}

/** Ports of a text like `22,80,8500-8600`. */
export function parsePorts(text: string): Set<number> {
  const ports = new Set<number>();
  for (const part of text.split(",")) {
    const match = /^\s*(\d+)(?:-(\d+))?\s*$/.exec(part);
    if (match === null) continue;
    const last = Math.min(Number(match[2] ?? match[1]), 65_535);
    for (let port = Number(match[1]); port <= last; port++) ports.add(port);
  }
  return ports;
}

/** An empty usage. */
export function noUsage(): Usage {
  return { cpu: 0, memoryMB: 0, diskMB: 0, ports: new Set() };
}

/** Adds what an allocation holds. */
export function addAlloc(usage: Usage, alloc: Allocation): void {
  const resources = alloc.AllocatedResources;
  if (resources === null) return;
  const { cpu, memoryMB } = peakOf(resources);
  usage.cpu += cpu;
  usage.memoryMB += memoryMB;
  usage.diskMB += resources.Shared.DiskMB;
  for (const port of resources.Shared.Ports ?? []) usage.ports.add(port.Value);
}

/** Most CPU and memory at one time: prestart tasks that end make room for main tasks, and these for poststop ones. */
function peakOf(resources: AllocatedResources): { cpu: number; memoryMB: number } {
  const of = { before: [0, 0], always: [0, 0], main: [0, 0], after: [0, 0] } as Record<
    "before" | "always" | "main" | "after",
    [number, number]
  >;
  for (const [name, task] of Object.entries(resources.Tasks ?? {})) {
    const lifecycle = resources.TaskLifecycles?.[name] ?? null;
    const slot =
      lifecycle === null || lifecycle.Hook === ""
        ? "main"
        : lifecycle.Hook === "poststop"
          ? "after"
          : lifecycle.Hook === "poststart"
            ? "main"
            : lifecycle.Sidecar
              ? "always"
              : "before";
    of[slot][0] += task.Cpu.CpuShares;
    of[slot][1] += task.Memory.MemoryMB;
  }
  const peak = (i: 0 | 1): number => of.always[i] + Math.max(of.before[i], of.main[i], of.after[i]);
  return { cpu: peak(0), memoryMB: peak(1) };
}

/** What a group's tasks ask for, as it will be allocated (without ports). */
export function allocatedOf(group: TaskGroup): AllocatedResources {
  const tasks: NonNullable<AllocatedResources["Tasks"]> = {};
  const lifecycles: NonNullable<AllocatedResources["TaskLifecycles"]> = {};
  for (const task of group.Tasks ?? []) {
    tasks[task.Name] = {
      Cpu: { CpuShares: task.Resources?.CPU ?? 0, ReservedCores: null },
      Memory: { MemoryMB: task.Resources?.MemoryMB ?? 0, MemoryMaxMB: task.Resources?.MemoryMaxMB ?? 0 },
      Networks: null,
      Devices: null,
    };
    lifecycles[task.Name] = task.Lifecycle;
  }
  return {
    Tasks: tasks,
    TaskLifecycles: lifecycles,
    Shared: { Networks: null, DiskMB: group.EphemeralDisk?.SizeMB ?? 0, Ports: null },
  };
}

/** Peak demand of resources that are not placed yet. */
export function demandOf(resources: AllocatedResources): { cpu: number; memoryMB: number; diskMB: number } {
  return { ...peakOf(resources), diskMB: resources.Shared.DiskMB };
}
