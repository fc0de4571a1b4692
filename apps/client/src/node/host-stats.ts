import { readFile, statfs } from "node:fs/promises";
import { cpus, uptime } from "node:os";
import type { Clock } from "@outrider/backoff";
import { deviceOf } from "./fingerprint/host.ts";
import type { HostCPUStats, HostDiskStats, HostStats } from "@outrider/nomad-structs";

interface CpuTimes {
  readonly user: number;
  readonly system: number;
  readonly idle: number;
  readonly total: number;
}

/** Shortest time between two looks at the processors, ms: shorter ones give nonsense percentages. */
const MIN_WINDOW_MS = 500;

/** Samples use of the machine. Percentages are since the last sample. */
export class HostStatsSampler {
  readonly #clock: Clock;
  readonly #allocRoot: string;
  readonly #mhz: number;
  #last: { readonly atMs: number; readonly times: readonly CpuTimes[] } | undefined;
  #cached: HostCPUStats[] = [];
  #ticks = 0;

  constructor(o: { readonly clock: Clock; readonly allocRoot: string; readonly mhz: number }) {
    this.#clock = o.clock;
    this.#allocRoot = o.allocRoot;
    this.#mhz = o.mhz;
  }

  async sample(): Promise<HostStats> {
    const [memory, disk, root] = await Promise.all([
      memoryInfo(),
      diskOf(this.#allocRoot, await deviceOf(this.#allocRoot), this.#allocRoot),
      diskOf("/", await deviceOf("/"), "/"),
    ]);
    this.#sampleCpu();
    return {
      Memory: memory,
      CPU: this.#cached,
      DiskStats: root.Device === disk.Device ? [root] : [root, disk],
      AllocDirStats: { ...disk, Device: "", Mountpoint: "" },
      DeviceStats: null,
      Uptime: Math.floor(uptime()),
      Timestamp: this.#clock.now() * 1_000_000,
      CPUTicksConsumed: this.#ticks,
    };
  }

  #sampleCpu(): void {
    const now = this.#clock.monotonic();
    if (this.#last !== undefined && now - this.#last.atMs < MIN_WINDOW_MS) return;
    const times = cpus().map(({ times: t }) => ({
      user: t.user + t.nice,
      system: t.sys + t.irq,
      idle: t.idle,
      total: t.user + t.nice + t.sys + t.irq + t.idle,
    }));
    const before = this.#last?.times;
    this.#cached = times.map((time, i) => cpuStats(i, before?.[i], time, this.#mhz));
    this.#ticks = this.#cached.reduce((sum, cpu) => sum + cpu.TotalTicks, 0);
    this.#last = { atMs: now, times };
  }
}

function cpuStats(index: number, before: CpuTimes | undefined, now: CpuTimes, mhz: number): HostCPUStats {
  const from = before ?? { user: 0, system: 0, idle: 0, total: 0 };
  const total = Math.max(1, now.total - from.total);
  const percent = (a: number, b: number): number => (100 * Math.max(0, a - b)) / total;
  const idle = percent(now.idle, from.idle);
  return {
    CPU: `cpu${index}`,
    User: percent(now.user, from.user),
    System: percent(now.system, from.system),
    Idle: idle,
    TotalPercent: Math.max(0, 100 - idle),
    TotalTicks: (Math.max(0, 100 - idle) / 100) * mhz,
  };
}

async function memoryInfo(): Promise<NonNullable<HostStats["Memory"]>> {
  const values = new Map<string, number>();
  for (const line of (await readFile("/proc/meminfo", "utf8")).split("\n")) {
    const match = /^(\w+):\s+(\d+) kB/.exec(line);
    if (match?.[1] !== undefined) values.set(match[1], Number(match[2]) * 1024);
  }
  const of = (name: string): number => values.get(name) ?? 0;
  const Total = of("MemTotal");
  const Free = of("MemFree");
  const used = Total - Free - of("Buffers") - of("Cached") - of("SReclaimable");
  return { Total, Available: of("MemAvailable"), Used: Math.max(0, used), Free };
}

async function diskOf(path: string, device: string, mountpoint: string): Promise<HostDiskStats> {
  const disk = await statfs(path);
  const Size = disk.blocks * disk.bsize;
  const Available = disk.bavail * disk.bsize;
  const Used = (disk.blocks - disk.bfree) * disk.bsize;
  return {
    Device: device,
    Mountpoint: mountpoint,
    Size,
    Used,
    Available,
    UsedPercent: Used + Available === 0 ? 0 : (100 * Used) / (Used + Available),
    InodesUsedPercent: disk.files === 0 ? 0 : (100 * (disk.files - disk.ffree)) / disk.files,
  };
}
