import type { CpuUsage, MemoryUsage, RawMemory, RawUsage, ResourceUsage } from "./usage.ts";

/** Windows shorter than this give nonsense rates and are merged into the next one, ms. @public */
export const MIN_WINDOW_MS = 50;
/** How far above all cores a rate may be before it is cut: counters and clocks are not read at one instant. */
const TOLERANCE = 1.05;

/** The machine's processor, for rates in MHz. @internal */
export interface Machine {
  readonly cores: number;
  readonly totalMHz: number;
}

type Counters = NonNullable<RawUsage["cpu"]>;

/** Makes rates of growing CPU counters: keeps the last reading of one task or process. @internal */
export class RateWindow {
  readonly #machine: Machine;
  readonly #onClamp: () => void;
  #base: { readonly atMs: number; readonly cpu: Counters } | undefined;

  constructor(machine: Machine, onClamp: () => void) {
    this.#machine = machine;
    this.#onClamp = onClamp;
  }

  /** The usage at a reading; the rates are since the reading before. */
  usage(raw: RawUsage): ResourceUsage {
    return { MemoryStats: memoryUsage(raw.memory), CpuStats: this.#cpuUsage(raw), DeviceStats: [] };
  }

  #cpuUsage(raw: RawUsage): CpuUsage {
    const usage: CpuUsage = {
      SystemMode: 0,
      UserMode: 0,
      Percent: 0,
      TotalTicks: 0,
      ThrottledPeriods: 0,
      ThrottledTime: 0,
      Measured: [],
    };
    if (raw.cpu !== undefined) this.#addRates(usage, raw.cpu, raw.atMs);
    if (raw.throttledPeriods !== undefined) {
      usage.ThrottledPeriods = raw.throttledPeriods;
      usage.Measured.push("Throttled Periods");
    }
    if (raw.throttledNs !== undefined) {
      usage.ThrottledTime = raw.throttledNs;
      usage.Measured.push("Throttled Time");
    }
    return usage;
  }

  #addRates(usage: CpuUsage, cpu: Counters, atMs: number): void {
    const base = this.#base;
    if (base === undefined) {
      this.#base = { atMs, cpu };
      return;
    }
    const windowMs = atMs - base.atMs;
    if (windowMs < MIN_WINDOW_MS) return;
    this.#base = { atMs, cpu };
    const percent = (to: number, from: number): number => ((to - from) / (windowMs * 1000)) * 100;
    const total = percent(cpu.totalUs, base.cpu.totalUs);
    const system = percent(cpu.systemUs, base.cpu.systemUs);
    const user = percent(cpu.userUs, base.cpu.userUs);
    // A counter that went back belongs to something else now.
    if (total < 0 || system < 0 || user < 0) return;
    const { cores, totalMHz } = this.#machine;
    const ceiling = cores * 100;
    if (total > ceiling * TOLERANCE) this.#onClamp();
    usage.Percent = Math.min(total, ceiling);
    usage.SystemMode = Math.min(system, ceiling);
    usage.UserMode = Math.min(user, ceiling);
    usage.TotalTicks = ((usage.Percent / 100) * totalMHz) / cores;
    usage.Measured.push("System Mode", "User Mode", "Percent");
  }
}

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
  const usage: MemoryUsage = {
    RSS: 0,
    Cache: 0,
    Swap: 0,
    MappedFile: 0,
    Usage: 0,
    MaxUsage: 0,
    KernelUsage: 0,
    KernelMaxUsage: 0,
    Measured: [],
  };
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
