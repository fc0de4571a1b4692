import { existsSync } from "node:fs";
import type { CgroupDirs } from "./cgroup-layout.ts";
import type { KernelFileReader } from "./kernel-file.ts";
import type { RawUsage } from "./usage.ts";

const V2_CPU = ["usage_usec", "user_usec", "system_usec", "nr_periods", "nr_throttled", "throttled_usec"] as const;
const V2_MEMORY = [
  "anon",
  "file",
  "file_mapped",
  "inactive_file",
  "kernel",
  "slab",
  "kernel_stack",
  "pagetables",
  "sock",
] as const;
const V1_MEMORY = ["rss", "cache", "mapped_file", "total_inactive_file", "swap"] as const;
const V1_CPU = ["nr_periods", "nr_throttled", "throttled_time"] as const;

type Part = (reader: KernelFileReader, raw: RawUsage, now: () => number) => void;

/** Reads the totals of one cgroup. Which files exist is found out once: one that is missing later means that the cgroup is gone. @internal */
export class CgroupReader {
  readonly #parts: Part[];
  readonly procs: string | undefined;

  constructor(dirs: CgroupDirs) {
    this.#parts = [...cpuParts(dirs), ...memoryParts(dirs)];
    const all = [dirs.unified, dirs.cpuacct, dirs.cpu, dirs.memory].filter((dir) => dir !== undefined);
    this.procs = all.map((dir) => `${dir}/cgroup.procs`).find((file) => existsSync(file));
  }

  /** Whether there is anything to read. */
  get usable(): boolean {
    return this.#parts.length > 0;
  }

  /** Throws what the system says when a file cannot be read any more. */
  read(reader: KernelFileReader, now: () => number): RawUsage {
    const raw: RawUsage = {
      atMs: now(),
      cpu: undefined,
      throttledPeriods: undefined,
      throttledNs: undefined,
      memory: {},
    };
    for (const part of this.#parts) part(reader, raw, now);
    return raw;
  }
}

function cpuParts(dirs: CgroupDirs): Part[] {
  const unified = `${dirs.unified}/cpu.stat`;
  if (dirs.unified !== undefined && existsSync(unified)) {
    return [
      (reader, raw, now) => {
        reader.read(unified);
        raw.atMs = now();
        const [total, user, system, periods, throttled, throttledUs] = reader.flat(V2_CPU);
        if (total !== undefined) raw.cpu = { totalUs: total, userUs: user ?? 0, systemUs: system ?? 0 };
        // Present only with the cpu controller: nr_periods tells.
        if (periods === undefined) return;
        raw.throttledPeriods = throttled;
        raw.throttledNs = throttledUs === undefined ? undefined : throttledUs * 1000;
      },
    ];
  }
  const parts: Part[] = [];
  const account = `${dirs.cpuacct}/cpuacct.usage`;
  if (dirs.cpuacct !== undefined && existsSync(account)) {
    parts.push((reader, raw, now) => {
      const us = (suffix: string): number => {
        reader.read(account + suffix);
        return (reader.number() ?? 0) / 1000;
      };
      raw.cpu = { totalUs: us(""), userUs: us("_user"), systemUs: us("_sys") };
      raw.atMs = now();
    });
  }
  const limits = `${dirs.cpu}/cpu.stat`;
  if (dirs.cpu !== undefined && existsSync(limits)) {
    parts.push((reader, raw) => {
      reader.read(limits);
      [, raw.throttledPeriods, raw.throttledNs] = reader.flat(V1_CPU);
    });
  }
  return parts;
}

function memoryParts(dirs: CgroupDirs): Part[] {
  if (dirs.unified !== undefined && existsSync(`${dirs.unified}/memory.current`)) return v2MemoryParts(dirs.unified);
  if (dirs.memory !== undefined && existsSync(`${dirs.memory}/memory.stat`)) return v1MemoryParts(dirs.memory);
  return [];
}

function v2MemoryParts(dir: string): Part[] {
  return [
    (reader, { memory }) => {
      reader.read(`${dir}/memory.stat`);
      const [anon, file, mapped, inactive, kernel, ...parts] = reader.flat(V2_MEMORY);
      memory.rss = anon;
      memory.cache = file;
      memory.mappedFile = mapped;
      memory.inactiveFile = inactive;
      // Kernels before 5.18 tell only the parts.
      memory.kernelUsage =
        kernel ??
        (parts.every((part) => part === undefined)
          ? undefined
          : parts.reduce<number>((sum, part) => sum + (part ?? 0), 0));
    },
    ...single(`${dir}/memory.current`, "usage"),
    ...single(`${dir}/memory.peak`, "maxUsage"),
    ...single(`${dir}/memory.swap.current`, "swap"),
  ];
}

function v1MemoryParts(dir: string): Part[] {
  return [
    (reader, { memory }) => {
      reader.read(`${dir}/memory.stat`);
      [memory.rss, memory.cache, memory.mappedFile, memory.inactiveFile, memory.swap] = reader.flat(V1_MEMORY);
    },
    ...single(`${dir}/memory.usage_in_bytes`, "usage"),
    ...single(`${dir}/memory.max_usage_in_bytes`, "maxUsage"),
    ...single(`${dir}/memory.kmem.usage_in_bytes`, "kernelUsage"),
    ...single(`${dir}/memory.kmem.max_usage_in_bytes`, "kernelMaxUsage"),
  ];
}

function single(file: string, field: keyof RawUsage["memory"]): Part[] {
  if (!existsSync(file)) return [];
  return [
    (reader, raw) => {
      reader.read(file);
      raw.memory[field] = reader.number();
    },
  ];
}
