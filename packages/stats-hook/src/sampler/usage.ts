/** Memory in bytes, in Nomad's shape. A field that is not named in `Measured` is 0 because nobody knows it. @public */
export interface MemoryUsage {
  RSS: number;
  Cache: number;
  Swap: number;
  MappedFile: number;
  Usage: number;
  MaxUsage: number;
  KernelUsage: number;
  KernelMaxUsage: number;
  /** Usage without the file cache that the kernel would drop first. Not part of Nomad's shape. */
  WorkingSet?: number;
  /** Nomad's names of the fields that were measured: `RSS`, `Cache`, `Swap`, `Mapped File`, `Usage`, `Max Usage`, `Kernel Usage`, `Kernel Max Usage`. */
  Measured: string[];
}

/** CPU in Nomad's shape; 100 percent is one busy core. A rate needs two samples: until then it is 0 and not named in `Measured`. @public */
export interface CpuUsage {
  SystemMode: number;
  UserMode: number;
  Percent: number;
  /** Percent in MHz of this machine. */
  TotalTicks: number;
  /** Periods in which the limit was hit, since the start. */
  ThrottledPeriods: number;
  /** Time lost by it, ns, since the start. */
  ThrottledTime: number;
  /** `System Mode`, `User Mode`, `Percent`, `Throttled Periods`, `Throttled Time`. */
  Measured: string[];
}

/** Use of one task or process. @public */
export interface ResourceUsage {
  MemoryStats: MemoryUsage;
  CpuStats: CpuUsage;
  /** Always empty: devices are not the sampler's business. */
  DeviceStats: never[];
}

/** One sample of one task, in Nomad's shape. Lists may be shared between samples and frozen. @public */
export interface TaskUsage {
  ResourceUsage: ResourceUsage;
  /** Nanoseconds since the epoch. */
  Timestamp: bigint;
  /** By process id; taken less often than the totals. */
  Pids: Record<string, ResourceUsage>;
  /** When `Pids` was taken, nanoseconds since the epoch; 0 before the first time. Not part of Nomad's shape. */
  PidsTimestamp: bigint;
}

/** Counters as they were read, before rates are made of them. `undefined` means that the source does not have it. @internal */
export interface RawUsage {
  /** Monotonic ms right after the CPU counters were read. */
  atMs: number;
  cpu: { totalUs: number; userUs: number; systemUs: number } | undefined;
  throttledPeriods: number | undefined;
  throttledNs: number | undefined;
  memory: RawMemory;
}

/** Memory counters as they were read. @internal */
export interface RawMemory {
  rss?: number | undefined;
  cache?: number | undefined;
  swap?: number | undefined;
  mappedFile?: number | undefined;
  usage?: number | undefined;
  maxUsage?: number | undefined;
  kernelUsage?: number | undefined;
  kernelMaxUsage?: number | undefined;
  inactiveFile?: number | undefined;
}
