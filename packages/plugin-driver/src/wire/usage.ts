/** Resource usage between the contract (Nomad's JSON names) and protobuf messages. */
import { create } from "@bufbuild/protobuf";
import type { ResourceUsage, TaskResourceUsage } from "@outrider/nomad-structs";
import {
  type CPUUsage,
  CPUUsageSchema,
  type MemoryUsage,
  MemoryUsageSchema,
  type TaskResourceUsage as UsageMessage,
  TaskResourceUsageSchema,
  type TaskStats,
  TaskStatsSchema,
} from "../gen/driver_pb.js";
import { fromTimestamp, toTimestamp, toUnsigned } from "./scalars.ts";

/** Names that users see, by number on the wire. */
const CPU_NAMES = ["System Mode", "User Mode", "Total Ticks", "Throttled Periods", "Throttled Time", "Percent"];
const MEMORY_NAMES = ["RSS", "Cache", "Max Usage", "Kernel Usage", "Kernel Max Usage", "Usage", "Swap"];

function numbers(names: readonly string[], measured: readonly string[] | null): number[] {
  const out: number[] = [];
  for (const name of measured ?? []) {
    const at = names.indexOf(name);
    if (at >= 0) out.push(at);
  }
  return out;
}

function named(names: readonly string[], fields: readonly number[]): string[] {
  return fields.flatMap((field) => names[field] ?? []);
}

function toUsage(usage: ResourceUsage): UsageMessage {
  const { CpuStats: cpu, MemoryStats: memory } = usage;
  const message = create(TaskResourceUsageSchema);
  // Both parts always, also empty: Nomad's encoder takes them for granted.
  message.cpu = create(CPUUsageSchema);
  message.memory = create(MemoryUsageSchema);
  if (cpu !== null) {
    message.cpu.systemMode = cpu.SystemMode;
    message.cpu.userMode = cpu.UserMode;
    message.cpu.totalTicks = cpu.TotalTicks;
    message.cpu.throttledPeriods = toUnsigned(cpu.ThrottledPeriods);
    message.cpu.throttledTime = toUnsigned(cpu.ThrottledTime);
    message.cpu.percent = cpu.Percent;
    message.cpu.measuredFields = numbers(CPU_NAMES, cpu.Measured);
  }
  if (memory !== null) {
    message.memory.rss = toUnsigned(memory.RSS);
    message.memory.cache = toUnsigned(memory.Cache);
    message.memory.maxUsage = toUnsigned(memory.MaxUsage);
    message.memory.kernelUsage = toUnsigned(memory.KernelUsage);
    message.memory.kernelMaxUsage = toUnsigned(memory.KernelMaxUsage);
    message.memory.usage = toUnsigned(memory.Usage);
    message.memory.swap = toUnsigned(memory.Swap);
    message.memory.measuredFields = numbers(MEMORY_NAMES, memory.Measured);
  }
  return message;
}

function fromCpu(cpu: CPUUsage | undefined): NonNullable<ResourceUsage["CpuStats"]> | null {
  if (cpu === undefined) return null;
  return {
    SystemMode: cpu.systemMode,
    UserMode: cpu.userMode,
    TotalTicks: cpu.totalTicks,
    ThrottledPeriods: Number(cpu.throttledPeriods),
    ThrottledTime: Number(cpu.throttledTime),
    Percent: cpu.percent,
    Measured: named(CPU_NAMES, cpu.measuredFields),
  };
}

function fromMemory(memory: MemoryUsage | undefined): NonNullable<ResourceUsage["MemoryStats"]> | null {
  if (memory === undefined) return null;
  return {
    RSS: Number(memory.rss),
    Cache: Number(memory.cache),
    Swap: Number(memory.swap),
    // Not on the wire.
    MappedFile: 0,
    Usage: Number(memory.usage),
    MaxUsage: Number(memory.maxUsage),
    KernelUsage: Number(memory.kernelUsage),
    KernelMaxUsage: Number(memory.kernelMaxUsage),
    Measured: named(MEMORY_NAMES, memory.measuredFields),
  };
}

function fromUsage(message: UsageMessage | undefined): ResourceUsage {
  return { CpuStats: fromCpu(message?.cpu), MemoryStats: fromMemory(message?.memory), DeviceStats: [] };
}

/** Every part that a Go host dereferences without a check is there, whatever the driver left out. */
export function toTaskStats(taskId: string, sample: TaskResourceUsage, nowMs: number): TaskStats {
  const message = create(TaskStatsSchema);
  message.id = taskId;
  message.timestamp = toTimestamp(sample.Timestamp > 0 ? sample.Timestamp : nowMs * 1e6);
  message.aggResourceUsage = toUsage(sample.ResourceUsage ?? EMPTY);
  for (const [pid, usage] of Object.entries(sample.Pids ?? {})) message.resourceUsageByPid[pid] = toUsage(usage);
  return message;
}

const EMPTY: ResourceUsage = { CpuStats: null, MemoryStats: null, DeviceStats: [] };

/** A sample, or why the message is none. */
export function fromTaskStats(message: TaskStats | undefined): TaskResourceUsage | string {
  if (message === undefined) return "stats missing";
  if (message.timestamp === undefined) return "timestamp missing";
  if (message.aggResourceUsage === undefined) return "agg_resource_usage missing";
  const pids = Object.entries(message.resourceUsageByPid);
  return {
    ResourceUsage: fromUsage(message.aggResourceUsage),
    Timestamp: fromTimestamp(message.timestamp),
    Pids: pids.length === 0 ? null : Object.fromEntries(pids.map(([pid, usage]) => [pid, fromUsage(usage)])),
  };
}
