/** Resource usage of tasks. A key that is absent was not measured. */

/**
 * CPU usage since the last sample (modes, ticks, percent) or in total (throttling).
 * @public
 */
export interface CpuUsage {
  readonly systemMode?: number;
  readonly userMode?: number;
  readonly totalTicks?: number;
  readonly throttledPeriods?: number;
  /** Nanoseconds. */
  readonly throttledTime?: number;
  readonly percent?: number;
  /** Nomad's names of the measured fields; by default those of the keys present. */
  readonly measured?: readonly string[];
}

/**
 * Memory usage in bytes.
 * @public
 */
export interface MemoryUsage {
  readonly rss?: number;
  readonly cache?: number;
  readonly swap?: number;
  readonly usage?: number;
  readonly maxUsage?: number;
  readonly kernelUsage?: number;
  readonly kernelMaxUsage?: number;
  /** Nomad's names of the measured fields; by default those of the keys present. */
  readonly measured?: readonly string[];
}

/**
 * Usage of one process or of a whole task.
 * @public
 */
export interface ResourceUsage {
  readonly cpu: CpuUsage;
  readonly memory: MemoryUsage;
}

/**
 * One sample of a task.
 * @public
 */
export interface TaskResourceUsage {
  /** Epoch milliseconds. */
  readonly timestampMs: number;
  readonly resourceUsage: ResourceUsage;
  /** By process id, when the driver knows. */
  readonly pids?: Readonly<Record<string, ResourceUsage>>;
}
