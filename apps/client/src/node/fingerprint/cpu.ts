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
const ARCH: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64", ia32: "386", arm: "arm", ppc64: "ppc64le", s390x: "s390x", riscv64: "riscv64" };

/** Reads processors from the kernel. */
export async function fingerprintCpu(): Promise<CpuFacts> {
  const list = cpus();
  const cores = Math.max(1, list.length);
  const mhz = (await maxMhz()) ?? Math.max(1, ...list.map((cpu) => cpu.speed));
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
        Cores: Array.from({ length: cores }, (_, id) => ({ SocketID: 0, NodeID: 0, ID: id, Grade: true, Disable: false, BaseSpeed: mhz, MaxSpeed: 0, GuessSpeed: 0 })),
        OverrideTotalCompute: 0,
        OverrideWitholdCompute: 0,
      },
    },
  };
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
