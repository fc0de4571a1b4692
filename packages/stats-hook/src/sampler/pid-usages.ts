import { isGone, type KernelFileReader } from "./kernel-file.ts";
import { emptyStat, parseStat, TICK_US, type ProcessStat } from "./process-stat.ts";
import { RateWindow, type Machine } from "./rate-window.ts";
import type { ResourceUsage } from "./usage.ts";

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
  /** The round in which it was last met. */
  round: number;
}

/** The usage of each process of one task. @internal */
export class PidUsages {
  readonly #context: PidContext;
  readonly #known = new Map<number, Known>();
  #round = 0;

  constructor(context: PidContext) {
    this.#context = context;
  }

  /** Reads the processes in pieces of `chunk`; those that are gone are left out. */
  *read(sources: Iterable<PidSource>, chunk: number): Generator<void, Record<string, ResourceUsage>> {
    const usages: Record<string, ResourceUsage> = {};
    this.#round++;
    let left = chunk;
    let atMs = this.#context.now();
    let swapping = this.#context.swapping();
    for (const { pid, stat } of sources) {
      if (left-- === 0) {
        yield;
        left = chunk;
        // A piece takes a fraction of a millisecond: one look at the clock serves all of it.
        atMs = this.#context.now();
        swapping = this.#context.swapping();
      }
      const usage = this.#usage(pid, stat, atMs, swapping);
      if (usage !== undefined) usages[pid] = usage;
    }
    for (const [pid, { round }] of this.#known) if (round !== this.#round) this.#known.delete(pid);
    return usages;
  }

  #usage(pid: number, given: ProcessStat | undefined, atMs: number, swapping: boolean): ResourceUsage | undefined {
    try {
      const stat = given ?? this.#readStat(pid);
      const swap = swapping ? this.#readSwap(pid) : 0;
      const { window } = this.#entry(pid, stat.start);
      return window.processUsage(
        atMs,
        stat.utime * TICK_US,
        stat.stime * TICK_US,
        stat.rssPages * this.#context.pageBytes,
        swap,
      );
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  #entry(pid: number, start: number): Known {
    const known = this.#known.get(pid);
    if (known?.start === start) {
      known.round = this.#round;
      return known;
    }
    const { machine, onClamp } = this.#context;
    const entry = { start, window: new RateWindow(machine, onClamp), round: this.#round };
    this.#known.set(pid, entry);
    return entry;
  }

  #readStat(pid: number): ProcessStat {
    const { reader, procDir } = this.#context;
    const stat = emptyStat();
    reader.read(`${procDir}/${pid}/stat`);
    parseStat(reader, stat);
    return stat;
  }

  #readSwap(pid: number): number {
    const { reader, procDir } = this.#context;
    reader.read(`${procDir}/${pid}/status`);
    return Number(/^VmSwap:\s*(\d+) kB$/m.exec(reader.text())?.[1] ?? 0) * 1024;
  }
}
