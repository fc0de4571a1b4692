import { OutriderError, type Logger } from "@outrider/foundation";
import type { CgroupDirs } from "./cgroup-layout.ts";
import { CgroupReader } from "./cgroup-reader.ts";
import { isDenied, isGone, type KernelFileReader } from "./kernel-file.ts";
import type { PidSource, PidUsages } from "./pid-usages.ts";
import type { ProcessForest } from "./process-forest.ts";
import type { ProcessTree } from "./process-tree.ts";
import type { RawUsage, ResourceUsage } from "./usage.ts";

/** What to sample: a process and all that descends from it, a cgroup, or both (then the totals are the cgroup's). @public */
export interface SampleTarget {
  /** Names the task: decides the phase of its samples and appears in log lines. */
  readonly id: string;
  /** The root process. */
  readonly pid?: number | undefined;
  /** When it started, clock ticks since boot (field 22 of its stat file): protects against a pid that is used again. */
  readonly startTime?: number | undefined;
  /** Absolute folders of the cgroup. */
  readonly cgroup?: CgroupDirs | undefined;
}

/** What all tasks of one sampler share. @internal */
export interface SharedReading {
  readonly procDir: string;
  readonly reader: KernelFileReader;
  readonly forest: ProcessForest;
  readonly logger: Logger;
  readonly now: () => number;
}

/** One reading of a task: its counters, and its processes when asked. `undefined` when the task is gone. @internal */
export interface TaskReading {
  readonly raw: RawUsage;
  readonly pids: Record<string, ResourceUsage> | undefined;
}

/** Processes read between two looks at the clock. */
const CHUNK = 64;

/** Reads one task, from its cgroup when it has one that can be read, else from its process tree. @internal */
export class TaskReader {
  readonly #target: SampleTarget;
  readonly #shared: SharedReading;
  readonly #pids: PidUsages;
  #cgroup: CgroupReader | undefined;
  #tree: ProcessTree | undefined;
  #opened = false;

  constructor(target: SampleTarget, shared: SharedReading, pids: PidUsages) {
    this.#target = target;
    this.#shared = shared;
    this.#pids = pids;
  }

  /** Reads in pieces: each `yield` is a point where the event loop may have its turn. Throws when it must not read. */
  *read(withPids: boolean): Generator<void, TaskReading | undefined> {
    if (!this.#opened) this.#open();
    if (this.#cgroup !== undefined) {
      const reading = yield* this.#readCgroup(this.#cgroup, withPids);
      if (reading !== "denied") return reading;
    }
    return yield* this.#readTree(withPids);
  }

  /** Closes what is open. */
  close(): void {
    if (this.#tree !== undefined) this.#shared.forest.uproot(this.#tree);
    this.#tree = undefined;
  }

  #open(): void {
    this.#opened = true;
    const { cgroup, pid, id } = this.#target;
    if (cgroup === undefined) return;
    const reader = new CgroupReader(cgroup);
    if (reader.usable) this.#cgroup = reader;
    else if (pid !== undefined)
      this.#shared.logger.debug({ id }, "the cgroup has no statistics, reading the process tree");
  }

  *#readCgroup(cgroup: CgroupReader, withPids: boolean): Generator<void, TaskReading | undefined | "denied"> {
    const { reader, logger, now } = this.#shared;
    try {
      const raw = cgroup.read(reader, now);
      const pids =
        withPids && cgroup.procs !== undefined ? yield* this.#pids.read(this.#listed(cgroup.procs), CHUNK) : undefined;
      return { raw, pids };
    } catch (error) {
      if (isGone(error)) return undefined;
      if (!isDenied(error)) throw error;
      const { id, pid } = this.#target;
      if (pid === undefined) {
        const text = `sampler: not allowed to read the cgroup of ${JSON.stringify(id)}`;
        throw new OutriderError("ERR_OUTRIDER_STATS_DENIED", text, { cause: error, details: { id } });
      }
      logger.warn({ id, err: error }, "not allowed to read the cgroup, reading the process tree");
      this.#cgroup = undefined;
      return "denied";
    }
  }

  #listed(procs: string): PidSource[] {
    const { reader } = this.#shared;
    reader.read(procs);
    // A set: a version 1 list may name a process twice.
    const pids = new Set(reader.text().split("\n"));
    pids.delete("");
    return [...pids].map((pid) => ({ pid: Number(pid) }));
  }

  *#readTree(withPids: boolean): Generator<void, TaskReading | undefined> {
    const { forest, now } = this.#shared;
    const { pid, startTime } = this.#target;
    if (pid === undefined) return undefined;
    if (this.#tree === undefined) this.#tree = forest.plant(pid, startTime, now());
    else forest.refresh(now());
    const tree = this.#tree;
    if (tree === undefined) return undefined;
    const atMs = now();
    tree.begin();
    while (!tree.step(CHUNK)) yield;
    if (tree.size === 0) return undefined;
    const raw = tree.finish(atMs);
    const pids = withPids ? yield* this.#pids.read(tree.processes(), CHUNK) : undefined;
    if (!forest.swapping) raw.memory.swap = 0;
    else if (pids !== undefined)
      raw.memory.swap = Object.values(pids).reduce((sum, usage) => sum + usage.MemoryStats.Swap, 0);
    return { raw, pids };
  }
}
