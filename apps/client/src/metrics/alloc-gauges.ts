import type { AllocRunner } from "@outrider/alloc-runner";
import type { MetricsSink } from "@outrider/hook-telemetry";
import type { Allocation } from "@outrider/nomad-structs";

const MEMORY = {
  rss: "RSS",
  cache: "Cache",
  swap: "Swap",
  mapped_file: "MappedFile",
  usage: "Usage",
  max_usage: "MaxUsage",
  kernel_usage: "KernelUsage",
  kernel_max_usage: "KernelMaxUsage",
} as const;
const CPU = {
  total_percent: "Percent",
  system: "SystemMode",
  user: "UserMode",
  throttled_time: "ThrottledTime",
  throttled_periods: "ThrottledPeriods",
  total_ticks: "TotalTicks",
} as const;

/** Labels of one task's metrics. */
export function taskLabels(alloc: Allocation, task: string): Record<string, string> {
  return { job: alloc.JobID, task_group: alloc.TaskGroup, alloc_id: alloc.ID, task, namespace: alloc.Namespace };
}

/** Sets usage and limits of every running task. A memory value is told when it was measured or is not zero. */
export function setAllocGauges(
  sink: Required<MetricsSink>,
  runners: Iterable<Pick<AllocRunner, "alloc" | "allocState" | "statsReporter">>,
): void {
  for (const runner of runners) {
    const alloc = runner.alloc();
    const states = runner.allocState().taskStates;
    const stats = runner.statsReporter().latestAllocStats();
    for (const [task, usage] of Object.entries(stats.Tasks ?? {})) {
      if (states[task]?.State !== "running") continue;
      const labels = taskLabels(alloc, task);
      const memory = usage.ResourceUsage?.MemoryStats;
      const cpu = usage.ResourceUsage?.CpuStats;
      const allocated = alloc.AllocatedResources?.Tasks?.[task];
      for (const [name, key] of Object.entries(MEMORY)) {
        const value = memory?.[key] ?? 0;
        if (value !== 0 || memory?.Measured?.includes(measuredName(key)) === true)
          sink.setGauge(`nomad.client.allocs.memory.${name}`, value, labels);
      }
      for (const [name, key] of Object.entries(CPU))
        sink.setGauge(`nomad.client.allocs.cpu.${name}`, cpu?.[key] ?? 0, labels);
      sink.setGauge("nomad.client.allocs.memory.allocated", (allocated?.Memory.MemoryMB ?? 0) * 1_048_576, labels);
      if ((allocated?.Memory.MemoryMaxMB ?? 0) > 0)
        sink.setGauge(
          "nomad.client.allocs.memory.max_allocated",
          (allocated?.Memory.MemoryMaxMB ?? 0) * 1_048_576,
          labels,
        );
      sink.setGauge("nomad.client.allocs.cpu.allocated", allocated?.Cpu.CpuShares ?? 0, labels);
    }
  }
}

/** Measured fields are named in words: `MaxUsage` is `Max Usage`. */
function measuredName(key: string): string {
  return key === "RSS" ? key : key.replace(/([a-z])([A-Z])/g, "$1 $2");
}
