import type { AllocResourceUsage, CpuStats, MemoryStats, TaskResourceUsage } from "@outrider/nomad-structs";

const MEMORY_KEYS = [
  "RSS",
  "Cache",
  "Swap",
  "MappedFile",
  "Usage",
  "MaxUsage",
  "KernelUsage",
  "KernelMaxUsage",
] as const;
const CPU_KEYS = ["SystemMode", "UserMode", "TotalTicks", "ThrottledPeriods", "ThrottledTime", "Percent"] as const;

/** One task's latest sample. */
export interface TaskSample {
  readonly task: string;
  readonly running: boolean;
  readonly usage: TaskResourceUsage;
}

/** The usage of an allocation: every sample by task, and the sum of the running ones. */
export function sumUsage(samples: readonly TaskSample[]): AllocResourceUsage {
  const running = samples.filter((s) => s.running).map((s) => s.usage);
  return {
    ResourceUsage: {
      MemoryStats: {
        ...sum(
          MEMORY_KEYS,
          running.map((u) => u.ResourceUsage?.MemoryStats),
        ),
        Measured: measured(running, "MemoryStats"),
      },
      CpuStats: {
        ...sum(
          CPU_KEYS,
          running.map((u) => u.ResourceUsage?.CpuStats),
        ),
        Measured: measured(running, "CpuStats"),
      },
      DeviceStats: running.flatMap((u) => u.ResourceUsage?.DeviceStats ?? []),
    },
    Tasks: Object.fromEntries(samples.map((s) => [s.task, s.usage])),
    Timestamp: Math.max(0, ...running.map((u) => u.Timestamp)),
  };
}

function sum<K extends string>(
  keys: readonly K[],
  parts: ReadonlyArray<{ readonly [P in K]: number } | null | undefined>,
): { [P in K]: number } {
  const total = Object.fromEntries(keys.map((key) => [key, 0])) as { [P in K]: number };
  for (const part of parts) for (const key of keys) total[key] += part?.[key] ?? 0;
  return total;
}

/** The ordered union of what was measured; null when nothing was. */
function measured(usages: readonly TaskResourceUsage[], part: "MemoryStats" | "CpuStats"): string[] | null {
  const names = new Set<string>();
  for (const usage of usages) {
    const stats: CpuStats | MemoryStats | null | undefined = usage.ResourceUsage?.[part];
    for (const name of stats?.Measured ?? []) names.add(name);
  }
  return names.size === 0 ? null : [...names];
}
