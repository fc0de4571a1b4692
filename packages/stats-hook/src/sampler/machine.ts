import { readFileSync } from "node:fs";
import { cpus, endianness } from "node:os";
import type { Machine } from "./rate-window.ts";

const AT_PAGESZ = 6n;
/** Size of a page where the kernel does not tell, bytes. */
const DEFAULT_PAGE_BYTES = 4096;

/**
 * Cores and their summed clock rate, read once and from what the hardware is built for: the rate of the moment jumps with power saving. @internal
 */
export function readMachine(procDir: string, sysDir: string): Machine {
  const cores = Math.max(1, cpus().length);
  const told = [...(readText(`${procDir}/cpuinfo`) ?? "").matchAll(/^cpu MHz\s*:\s*([\d.]+)$/gm)].map((match) =>
    Number(match[1]),
  );
  let totalMHz = 0;
  for (let i = 0; i < cores; i++) {
    const kHz = readNumber(`${sysDir}/devices/system/cpu/cpu${i}/cpufreq/base_frequency`);
    const topKHz = kHz ?? readNumber(`${sysDir}/devices/system/cpu/cpu${i}/cpufreq/cpuinfo_max_freq`);
    totalMHz += topKHz === undefined ? (told[i] ?? 0) : topKHz / 1000;
  }
  return { cores, totalMHz: Math.round(totalMHz) };
}

/** The page size from the auxiliary vector that the kernel gave this process. @internal */
export function readPageBytes(procDir: string): number {
  try {
    const vector = readFileSync(`${procDir}/self/auxv`);
    const word =
      endianness() === "LE" ? (at: number) => vector.readBigUInt64LE(at) : (at: number) => vector.readBigUInt64BE(at);
    for (let at = 0; at + 16 <= vector.length; at += 16) {
      if (word(at) === AT_PAGESZ) return Number(word(at + 8));
    }
  } catch {
    // Hidden in some containers.
  }
  return DEFAULT_PAGE_BYTES;
}

function readNumber(path: string): number | undefined {
  const value = Number(readText(path)?.trim());
  return value > 0 ? value : undefined;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}
