import { readFile } from "node:fs/promises";
import { cpus } from "node:os";
import type { NodeProcessorResources } from "@outrider/nomad-structs";

/** What is known of the processors. */
export interface CpuFacts {
  readonly cores: number;
  /** MHz of one core. */
  readonly mhz: number;
  /** MHz of all cores. */
  readonly totalMhz: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly processors: NodeProcessorResources;
}

/** Go's names of architectures, as Nomad uses them. */
const ARCH: Readonly<Record<string, string>> = {
  x64: "amd64",
  arm64: "arm64",
  ia32: "386",
  arm: "arm",
  ppc64: "ppc64le",
  s390x: "s390x",
  riscv64: "riscv64",
};

/** Reads processors from the kernel. */
export async function fingerprintCpu(): Promise<CpuFacts> {
  const list = cpus();
  const cores = Math.max(1, list.length);
  const mhz =
    (await maxMhz()) ??
    (await textMhz(list[0]?.model ?? "")) ??
    firstPositive(list.map((cpu) => cpu.speed)) ??
    FALLBACK_MHZ;
  const arch = ARCH[process.arch] ?? process.arch;
  return {
    cores,
    mhz,
    totalMhz: cores * mhz,
    attributes: {
      "cpu.arch": arch,
      "cpu.numcores": String(cores),
      "cpu.reservablecores": String(cores),
      "cpu.frequency": String(mhz),
      "cpu.totalcompute": String(cores * mhz),
      "cpu.usablecompute": String(cores * mhz),
      "cpu.modelname": list[0]?.model.trim() ?? "unknown",
      "numa.node.count": "1",
      "numa.node0.cores": cores === 1 ? "0" : `0-${cores - 1}`,
    },
    processors: {
      Topology: {
        Nodes: [0],
        Distances: null,
        BusAssociativity: null,
        Cores: Array.from({ length: cores }, (_, id) => ({
          SocketID: 0,
          NodeID: 0,
          ID: id,
          Grade: true,
          Disable: false,
          BaseSpeed: mhz,
          MaxSpeed: 0,
          GuessSpeed: 0,
        })),
        OverrideTotalCompute: 0,
        OverrideWitholdCompute: 0,
      },
    },
  };
}

/** Taken when a machine says nothing at all of its processors, as some virtual ones do. */
const FALLBACK_MHZ = 1000;

function firstPositive(values: readonly number[]): number | undefined {
  return values.find((value) => value > 0);
}

/** What the model's name or the kernel's text says: `… @ 2.30GHz`, `cpu MHz : 2299.998`, or half of BogoMIPS. */
async function textMhz(model: string): Promise<number | undefined> {
  const named = /@\s*([\d.]+)\s*GHz/i.exec(model)?.[1];
  if (named !== undefined) return Math.round(Number(named) * 1000);
  try {
    const text = await readFile("/proc/cpuinfo", "utf8");
    const mhz = /^cpu MHz\s*:\s*([\d.]+)/m.exec(text)?.[1];
    if (mhz !== undefined && Number(mhz) > 0) return Math.round(Number(mhz));
    const bogo = /^bogomips\s*:\s*([\d.]+)/im.exec(text)?.[1];
    // Only x86 counts two loops a cycle; elsewhere the number says nothing of the frequency.
    if (bogo !== undefined && (process.arch === "x64" || process.arch === "ia32"))
      return firstPositive([Math.round(Number(bogo) / 2)]);
  } catch {
    // No /proc.
  }
  return undefined;
}

/** The kernel's base or top frequency, which does not move with the load as `/proc/cpuinfo` does. */
async function maxMhz(): Promise<number | undefined> {
  for (const name of ["base_frequency", "cpuinfo_max_freq"]) {
    try {
      const khz = Number.parseInt(await readFile(`/sys/devices/system/cpu/cpu0/cpufreq/${name}`, "utf8"), 10);
      if (khz > 0) return Math.round(khz / 1000);
    } catch {
      // Not offered by this kernel or machine.
    }
  }
  return undefined;
}
