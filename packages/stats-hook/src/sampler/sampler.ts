import { existsSync } from "node:fs";
import { systemClock, type Clock } from "@outrider/backoff";
import { noopLogger, OutriderError, type Logger } from "@outrider/foundation";
import type { StatsSink, SubscribeFn } from "../options.ts";
import { createTicker, type Ticker } from "../ticker.ts";
import { KernelFileReader } from "./kernel-file.ts";
import { readMachine, readPageBytes } from "./machine.ts";
import { PidUsages } from "./pid-usages.ts";
import { ProcessForest } from "./process-forest.ts";
import { ProcessTable } from "./process-table.ts";
import { RateWindow } from "./rate-window.ts";
import { TaskReader, type SampleTarget } from "./task-reader.ts";
import { TaskStream } from "./task-stream.ts";
import type { TaskUsage } from "./usage.ts";

/** How often single processes are reported, ms. @public */
export const DEFAULT_PID_INTERVAL_MS = 5000;
/** How old the list of the machine's processes may be, ms: how late a child is noticed that belongs to no cgroup. @public */
export const DEFAULT_LIST_INTERVAL_MS = 1000;
/** Process files kept open at most. @public */
export const DEFAULT_MAX_OPEN_FILES = 1024;

/** Options of {@link createSampler}. @public */
export interface SamplerOptions {
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** Time between two reports of single processes, ms; `Infinity` for never. Default 5 s. */
  readonly pidInterval?: number | undefined;
  /** Default 1 s. */
  readonly listInterval?: number | undefined;
  /** Default 1024. */
  readonly maxOpenFiles?: number | undefined;
  /** Cores of the machine. Default: counted once. */
  readonly cores?: number | undefined;
  /** Their clock rates in MHz, summed: for `TotalTicks`. Default: read once. */
  readonly totalMHz?: number | undefined;
  /** Where procfs is mounted. Default `/proc`. */
  readonly procDir?: string | undefined;
  /** Where sysfs is mounted, for the clock rates. Default `/sys`. */
  readonly sysDir?: string | undefined;
  /** Default: silent. */
  readonly logger?: Logger | undefined;
}

/** Counters of a sampler, and what it watches now. @public */
export interface SamplerStats {
  /** Tasks that are watched. */
  readonly tasks: number;
  /** Processes in the trees of those without a cgroup. */
  readonly processes: number;
  /** Samples handed out. */
  readonly samples: number;
  /** Rates that were cut to what the machine can do. */
  readonly clamped: number;
}

/** Samples the CPU and memory of many tasks. Disposing it ends all streams and closes all files. @public */
export interface Sampler extends Disposable {
  /** The stream of one task, to be handed to `StatsHook.poststart`. It ends by itself when the task is gone. */
  source(target: SampleTarget): { readonly subscribe: SubscribeFn<TaskUsage> };
  /** A new object at each reading. */
  readonly stats: SamplerStats;
}

/**
 * Makes a sampler over procfs and cgroups: plain synchronous reads in slices of 2 ms, no child process, no native code. Throws
 * `ERR_OUTRIDER_STATS_OPTION` for a bad option and `ERR_OUTRIDER_STATS_PLATFORM` where there is no procfs. @public
 */
export function createSampler(options: SamplerOptions = {}): Sampler {
  return new LinuxSampler(options);
}

class LinuxSampler implements Sampler {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #pidIntervalMs: number;
  readonly #procDir: string;
  readonly #pageBytes: number;
  readonly #machine: { readonly cores: number; readonly totalMHz: number };
  readonly #reader = new KernelFileReader();
  readonly #table: ProcessTable;
  readonly #forest: ProcessForest;
  readonly #ticker: Ticker;
  readonly #tasks = new Set<TaskStream>();
  readonly #counts = { samples: 0, clamped: 0 };

  constructor(options: SamplerOptions) {
    const { clock = systemClock, logger = noopLogger, procDir = "/proc" } = options;
    const {
      pidInterval = DEFAULT_PID_INTERVAL_MS,
      listInterval = DEFAULT_LIST_INTERVAL_MS,
      maxOpenFiles = DEFAULT_MAX_OPEN_FILES,
    } = options;
    for (const [field, value, least] of [
      ["pidInterval", pidInterval, 0],
      ["listInterval", listInterval, 0],
      ["maxOpenFiles", maxOpenFiles, 0],
      ["cores", options.cores ?? 1, 1],
      ["totalMHz", options.totalMHz ?? 0, 0],
    ] as const) {
      if (!(value >= least)) throw badOption(field, value, `a number >= ${least}`);
    }
    if (!existsSync(`${procDir}/self/stat`)) {
      const text = `sampler: no procfs of Linux at ${JSON.stringify(procDir)}`;
      throw new OutriderError("ERR_OUTRIDER_STATS_PLATFORM", text, { details: { procDir } });
    }
    const machine = readMachine(procDir, options.sysDir ?? "/sys");
    this.#machine = { cores: options.cores ?? machine.cores, totalMHz: options.totalMHz ?? machine.totalMHz };
    this.#clock = clock;
    this.#logger = logger;
    this.#pidIntervalMs = pidInterval;
    this.#procDir = procDir;
    this.#pageBytes = readPageBytes(procDir);
    this.#table = new ProcessTable(procDir, maxOpenFiles, this.#reader);
    this.#forest = new ProcessForest(this.#table, procDir, this.#pageBytes, listInterval);
    this.#ticker = createTicker({ clock });
  }

  source(target: SampleTarget): { readonly subscribe: SubscribeFn<TaskUsage> } {
    const { id, pid, cgroup, startTime } = target;
    if (typeof id !== "string" || id === "") throw badOption("id", id, "a string that is not empty");
    if (pid === undefined && cgroup === undefined) throw badOption("target", id, "a process, a cgroup or both");
    if (pid !== undefined && !(Number.isSafeInteger(pid) && pid > 0)) throw badOption("pid", pid, "a process id");
    if (startTime !== undefined && !(startTime >= 0)) throw badOption("startTime", startTime, "a number of ticks");
    return { subscribe: (sink, intervalMs) => this.#subscribe(target, sink, intervalMs) };
  }

  get stats(): SamplerStats {
    return { tasks: this.#tasks.size, processes: this.#forest.size, ...this.#counts };
  }

  [Symbol.dispose](): void {
    for (const task of this.#tasks) task.end();
    this.#ticker[Symbol.dispose]();
    this.#table.close();
  }

  #subscribe(target: SampleTarget, sink: StatsSink<TaskUsage>, intervalMs: number): () => void {
    const onClamp = (): void => void this.#counts.clamped++;
    const now = (): number => this.#clock.monotonic();
    const shared = { procDir: this.#procDir, reader: this.#reader, forest: this.#forest, logger: this.#logger, now };
    const pids = new PidUsages({
      ...shared,
      pageBytes: this.#pageBytes,
      machine: this.#machine,
      onClamp,
      swapping: () => this.#forest.swapping,
    });
    const task = new TaskStream({
      reader: new TaskReader(target, shared, pids),
      window: new RateWindow(this.#machine, onClamp),
      sink,
      clock: this.#clock,
      pidIntervalMs: this.#pidIntervalMs,
      onSample: () => void this.#counts.samples++,
      onClose: () => this.#tasks.delete(task),
    });
    task.stop = this.#ticker.every(intervalMs, target.id, task.job);
    this.#tasks.add(task);
    return () => task.close();
  }
}

function badOption(field: string, given: unknown, expected: string): OutriderError {
  const text = String(given);
  return new OutriderError(
    "ERR_OUTRIDER_STATS_OPTION",
    `sampler: ${field} must be ${expected}, got ${JSON.stringify(text)}`,
    {
      details: { field, text },
    },
  );
}
