import type { CpuUsage, MemoryUsage, RawMemory, RawUsage, ResourceUsage } from "./usage.ts";

/** Windows shorter than this give nonsense rates and are merged into the next one, ms. @public */
export const MIN_WINDOW_MS = 50;
/** How far above all cores a rate may be before it counts as wrong: counters and clocks are not read at one instant. */
const TOLERANCE = 1.05;

/** The machine's processor, for rates in MHz. @internal */
export interface Machine {
  readonly cores: number;
  readonly totalMHz: number;
}

/** Makes rates of growing CPU counters: keeps the last reading of one task or process. @internal */
export class RateWindow {
  readonly #machine: Machine;
  readonly #onClamp: () => void;
  #atMs = Number.NaN;
  #userUs = 0;
  #systemUs = 0;
  #totalUs = 0;

  constructor(machine: Machine, onClamp: () => void) {
    this.#machine = machine;
    this.#onClamp = onClamp;
  }

  /** The usage of a task at a reading; the rates are since the reading before. */
  taskUsage(raw: RawUsage): ResourceUsage {
    const { cpu, throttledPeriods, throttledNs } = raw;
    const stats = cpu === undefined ? noCpu() : this.rates(raw.atMs, cpu.totalUs, cpu.userUs, cpu.systemUs);
    if (throttledPeriods !== undefined || throttledNs !== undefined) stats.Measured = [...stats.Measured];
    if (throttledPeriods !== undefined) {
      stats.ThrottledPeriods = throttledPeriods;
      stats.Measured.push("Throttled Periods");
    }
    if (throttledNs !== undefined) {
      stats.ThrottledTime = throttledNs;
      stats.Measured.push("Throttled Time");
    }
    return { MemoryStats: memoryUsage(raw.memory), CpuStats: stats, DeviceStats: NO_DEVICES };
  }

  /** The usage of one process: its times in µs, its memory in bytes. */
  processUsage(atMs: number, userUs: number, systemUs: number, rss: number, swap: number): ResourceUsage {
    const memory: MemoryUsage = {
      RSS: rss,
      Cache: 0,
      Swap: swap,
      MappedFile: 0,
      Usage: 0,
      MaxUsage: 0,
      KernelUsage: 0,
      KernelMaxUsage: 0,
      Measured: PROCESS_MEMORY,
    };
    return {
      MemoryStats: memory,
      CpuStats: this.rates(atMs, userUs + systemUs, userUs, systemUs),
      DeviceStats: NO_DEVICES,
    };
  }

  rates(atMs: number, totalUs: number, userUs: number, systemUs: number): CpuUsage {
    const usage = noCpu();
    const windowMs = atMs - this.#atMs;
    if (windowMs < MIN_WINDOW_MS) return usage;
    const scale = 100 / (windowMs * 1000);
    const total = (totalUs - this.#totalUs) * scale;
    const user = (userUs - this.#userUs) * scale;
    const system = (systemUs - this.#systemUs) * scale;
    this.#atMs = atMs;
    this.#totalUs = totalUs;
    this.#userUs = userUs;
    this.#systemUs = systemUs;
    // The first reading has no window (NaN), and a counter that went back belongs to something else now.
    if (!(total >= 0 && user >= 0 && system >= 0)) return usage;
    const { cores, totalMHz } = this.#machine;
    const ceiling = cores * 100;
    if (total > ceiling * TOLERANCE) this.#onClamp();
    usage.Percent = Math.min(total, ceiling);
    usage.SystemMode = Math.min(system, ceiling);
    usage.UserMode = Math.min(user, ceiling);
    usage.TotalTicks = ((usage.Percent / 100) * totalMHz) / cores;
    usage.Measured = PROCESS_CPU;
    return usage;
  }
}

const noCpu = (): CpuUsage => ({
  SystemMode: 0,
  UserMode: 0,
  Percent: 0,
  TotalTicks: 0,
  ThrottledPeriods: 0,
  ThrottledTime: 0,
  Measured: NOTHING,
});

// Shared by thousands of samples, so frozen.
const frozen = <T>(list: T[]): T[] => Object.freeze(list) as T[];
const NOTHING = frozen<string>([]);
const NO_DEVICES = frozen<never>([]);
const PROCESS_MEMORY = frozen(["RSS", "Swap"]);
const PROCESS_CPU = frozen(["System Mode", "User Mode", "Percent"]);

const NO_MEMORY = {
  RSS: 0,
  Cache: 0,
  Swap: 0,
  MappedFile: 0,
  Usage: 0,
  MaxUsage: 0,
  KernelUsage: 0,
  KernelMaxUsage: 0,
};

const FIELDS = [
  ["rss", "RSS", "RSS"],
  ["cache", "Cache", "Cache"],
  ["swap", "Swap", "Swap"],
  ["mappedFile", "MappedFile", "Mapped File"],
  ["usage", "Usage", "Usage"],
  ["maxUsage", "MaxUsage", "Max Usage"],
  ["kernelUsage", "KernelUsage", "Kernel Usage"],
  ["kernelMaxUsage", "KernelMaxUsage", "Kernel Max Usage"],
] as const;

function memoryUsage(raw: RawMemory): MemoryUsage {
  const usage: MemoryUsage = { ...NO_MEMORY, Measured: [] };
  for (const [from, to, name] of FIELDS) {
    const value = raw[from];
    if (value === undefined) continue;
    usage[to] = value;
    usage.Measured.push(name);
  }
  if (raw.usage !== undefined && raw.inactiveFile !== undefined)
    usage.WorkingSet = Math.max(0, raw.usage - raw.inactiveFile);
  return usage;
}
