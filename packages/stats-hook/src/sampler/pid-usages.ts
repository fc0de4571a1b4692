import { isGone, type KernelFileReader } from "./kernel-file.ts";
import { emptyStat, parseStat, type ProcessStat } from "./process-stat.ts";
import { RateWindow, type Machine } from "./rate-window.ts";
import type { ResourceUsage } from "./usage.ts";

const TICK_US = 10_000;

/** A process to report: with its counters if they have just been read. @internal */
export interface PidSource {
  readonly pid: number;
  readonly stat?: ProcessStat;
}

/** What the usages of single processes need. @internal */
export interface PidContext {
  readonly procDir: string;
  readonly pageBytes: number;
  readonly machine: Machine;
  readonly reader: KernelFileReader;
  /** Whether the share of swap must be read; it is 0 otherwise. */
  readonly swapping: () => boolean;
  readonly now: () => number;
  readonly onClamp: () => void;
}

interface Known {
  readonly start: number;
  readonly window: RateWindow;
}

/** The usage of each process of one task. @internal */
export class PidUsages {
  readonly #context: PidContext;
  #known = new Map<number, Known>();

  constructor(context: PidContext) {
    this.#context = context;
  }

  /** Reads the processes in pieces of `chunk`; those that are gone are left out. */
  *read(sources: readonly PidSource[], chunk: number): Generator<void, Record<string, ResourceUsage>> {
    const usages: Record<string, ResourceUsage> = {};
    const known = new Map<number, Known>();
    for (const [i, { pid, stat }] of sources.entries()) {
      if (i % chunk === chunk - 1) yield;
      const usage = this.#usage(pid, stat, known);
      if (usage !== undefined) usages[pid] = usage;
    }
    // Those that were not met have ended.
    this.#known = known;
    return usages;
  }

  #usage(pid: number, given: ProcessStat | undefined, known: Map<number, Known>): ResourceUsage | undefined {
    const { now, machine, onClamp, pageBytes } = this.#context;
    try {
      const stat = given ?? this.#readStat(pid);
      const atMs = now();
      const swap = this.#swap(pid);
      const before = this.#known.get(pid);
      const entry =
        before?.start === stat.start ? before : { start: stat.start, window: new RateWindow(machine, onClamp) };
      known.set(pid, entry);
      const userUs = stat.utime * TICK_US;
      const systemUs = stat.stime * TICK_US;
      return entry.window.usage({
        atMs,
        cpu: { totalUs: userUs + systemUs, userUs, systemUs },
        throttledPeriods: undefined,
        throttledNs: undefined,
        memory: { rss: stat.rssPages * pageBytes, swap },
      });
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  #readStat(pid: number): ProcessStat {
    const { reader, procDir } = this.#context;
    const stat = emptyStat();
    reader.read(`${procDir}/${pid}/stat`);
    parseStat(reader, stat);
    return stat;
  }

  #swap(pid: number): number {
    const { reader, procDir, swapping } = this.#context;
    if (!swapping()) return 0;
    reader.read(`${procDir}/${pid}/status`);
    const kB = /^VmSwap:\s*(\d+) kB$/m.exec(reader.text())?.[1];
    return kB === undefined ? 0 : Number(kB) * 1024;
  }
}
