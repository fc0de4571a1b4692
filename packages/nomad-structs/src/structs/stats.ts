import {
  any,
  float,
  list,
  map,
  object,
  ptr,
  ref,
  refs,
  str,
  struct,
  uint,
  unixNano,
  type Infer,
} from "../dsl/field.ts";
import { strings } from "./placement.ts";

const memoryFields = {
  RSS: uint(),
  Cache: uint(),
  Swap: uint(),
  MappedFile: uint(),
  Usage: uint(),
  MaxUsage: uint(),
  KernelUsage: uint(),
  KernelMaxUsage: uint(),
  /** Names of the fields that were measured. */
  Measured: strings(),
};
/** Memory of a task in bytes. @public */
export interface MemoryStats extends Infer<typeof memoryFields> {}
/** The description of {@link MemoryStats}. @public */
export const MemoryStatsStruct = struct<MemoryStats>("MemoryStats", memoryFields);

const cpuFields = {
  /** Percent of one core. */
  SystemMode: float(),
  UserMode: float(),
  /** MHz. */
  TotalTicks: float(),
  ThrottledPeriods: uint(),
  ThrottledTime: uint(),
  Percent: float(),
  Measured: strings(),
};
/** CPU of a task. @public */
export interface CpuStats extends Infer<typeof cpuFields> {}
/** The description of {@link CpuStats}. @public */
export const CpuStatsStruct = struct<CpuStats>("CpuStats", cpuFields);

const usageFields = { MemoryStats: ref(MemoryStatsStruct), CpuStats: ref(CpuStatsStruct), DeviceStats: list(any()) };
/** Use of memory, CPU and devices. @public */
export interface ResourceUsage extends Infer<typeof usageFields> {}
/** The description of {@link ResourceUsage}. @public */
export const ResourceUsageStruct = struct<ResourceUsage>("ResourceUsage", usageFields);

const taskUsageFields = {
  ResourceUsage: ref(ResourceUsageStruct),
  Timestamp: unixNano(),
  /** By process id. */
  Pids: map(object(ResourceUsageStruct)),
};
/** Use of one task at one moment. @public */
export interface TaskResourceUsage extends Infer<typeof taskUsageFields> {}
/** The description of {@link TaskResourceUsage}. @public */
export const TaskResourceUsageStruct = struct<TaskResourceUsage>("TaskResourceUsage", taskUsageFields);

const allocUsageFields = {
  ResourceUsage: ref(ResourceUsageStruct),
  Tasks: map(object(TaskResourceUsageStruct)),
  Timestamp: unixNano(),
};
/** Use of all running tasks of an allocation. @public */
export interface AllocResourceUsage extends Infer<typeof allocUsageFields> {}
/** The description of {@link AllocResourceUsage}. @public */
export const AllocResourceUsageStruct = struct<AllocResourceUsage>("AllocResourceUsage", allocUsageFields);

const hostMemoryFields = { Total: uint(), Available: uint(), Used: uint(), Free: uint() };
/** Memory of the machine in bytes. @public */
export interface HostMemoryStats extends Infer<typeof hostMemoryFields> {}
/** The description of {@link HostMemoryStats}. @public */
export const HostMemoryStatsStruct = struct<HostMemoryStats>("HostMemoryStats", hostMemoryFields);

const hostCpuFields = {
  CPU: str(),
  User: float(),
  System: float(),
  Idle: float(),
  TotalPercent: float(),
  TotalTicks: float(),
};
/** One core of the machine, in percent. @public */
export interface HostCPUStats extends Infer<typeof hostCpuFields> {}
/** The description of {@link HostCPUStats}. @public */
export const HostCPUStatsStruct = struct<HostCPUStats>("HostCPUStats", hostCpuFields);

const hostDiskFields = {
  Device: str(),
  Mountpoint: str(),
  Size: uint(),
  Used: uint(),
  Available: uint(),
  UsedPercent: float(),
  InodesUsedPercent: float(),
};
/** A disk of the machine. @public */
export interface HostDiskStats extends Infer<typeof hostDiskFields> {}
/** The description of {@link HostDiskStats}. @public */
export const HostDiskStatsStruct = struct<HostDiskStats>("HostDiskStats", hostDiskFields);

const hostFields = {
  Memory: ref(HostMemoryStatsStruct),
  CPU: refs(HostCPUStatsStruct),
  DiskStats: refs(HostDiskStatsStruct),
  AllocDirStats: ptr(object(HostDiskStatsStruct)),
  DeviceStats: list(any()),
  /** Seconds. */
  Uptime: uint(),
  Timestamp: unixNano(),
  CPUTicksConsumed: float(),
};
/** Use of the whole machine. @public */
export interface HostStats extends Infer<typeof hostFields> {}
/** The description of {@link HostStats}. @public */
export const HostStatsStruct = struct<HostStats>("HostStats", hostFields);
