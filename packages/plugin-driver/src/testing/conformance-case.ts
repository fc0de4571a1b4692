/** What a case of the suite is, and how the suite is called. */
import type { Bench, BenchOptions } from "./bench.ts";

/** The functions of a test runner; vitest, mocha and `node:test` fit. @public */
export interface Runner {
  readonly describe: (title: string, body: () => void) => unknown;
  readonly it: (title: string, body: () => Promise<void>) => unknown;
}

/** `config` blocks of tasks that the cases run. @public */
export interface ConformanceTasks {
  /** Runs until it is stopped, and ends by the driver's default signal. */
  readonly endless: unknown;
  /** Ends by itself within a second. */
  readonly short: unknown;
  readonly shortExitCode: number;
  /** Accepted by the schema, but cannot be started; absent = there is no such task. */
  readonly unstartable?: unknown;
}

/** Options of {@link driverConformance}. @public */
export interface ConformanceOptions extends BenchOptions {
  readonly tasks: ConformanceTasks;
  /** A declared capability makes its cases mandatory. */
  readonly capabilities?: {
    readonly signals?: boolean;
    readonly stats?: boolean;
    readonly exec?: { readonly command: readonly string[]; readonly stdout: string };
    /** Running and ended tasks are found again by a new instance. Default true. */
    readonly recover?: boolean;
  };
  /** Cases that are known not to hold, with the reason; one that would pass fails. */
  readonly skip?: readonly { readonly id: string; readonly reason: string }[];
  /** Longest time that a step may take. Default 10 s. */
  readonly stepMs?: number;
}

/** One case. */
export interface Case {
  readonly id: string;
  readonly title: string;
  readonly needs?: "signals" | "stats" | "exec" | "recover" | "no-stats" | "unstartable";
  run(bench: Bench, o: ConformanceOptions, within: Within): Promise<void>;
}

/** Bounds the time of one step. */
export type Within = <T>(work: Promise<T>, what: string) => Promise<T>;
