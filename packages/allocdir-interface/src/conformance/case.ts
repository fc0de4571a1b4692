import type { Clock } from "@outrider/backoff";
import type { Mounter } from "../mounter.ts";
import type { AllocDir, TaskDir } from "../types.ts";
import type {
  AllocDirSubject,
  AllocDirUnderTest,
  ConformanceCapabilities,
  ConformanceContext,
  TaskHands,
} from "./subject.ts";

/** What has to be there for a case: capabilities, a kind of fault, isolation `unveil`, other implementations, or powers of this process. */
export type Need =
  | Exclude<keyof ConformanceCapabilities, "isolation">
  | "plainSecrets"
  | "unveil"
  | "readOnlyDisk"
  | "fullDisk"
  | "vanishingFolder"
  | "otherImplementations";

/** What a case works with. */
export interface CaseBench {
  readonly subject: AllocDirSubject;
  readonly others: readonly AllocDirSubject[];
  readonly ctx: ConformanceContext;
  readonly clock: Clock;
  readonly alloc: AllocDir;
  readonly hands: TaskHands;
  readonly place: AllocDirUnderTest;
  /** A folder of the machine beside the allocation, with a file `canary` that holds `outside`. */
  readonly outside: string;
  /** Builds a task with the first isolation mode. */
  task(name: string, o?: { readonly secretsMB?: number }): Promise<TaskDir>;
  /** Builds a task of any of the places that the case made. */
  taskOf(subject: AllocDirSubject, place: AllocDirUnderTest, name: string): Promise<TaskDir>;
  /** Another allocation, or another object for the same one; destroyed after the case. */
  another(o?: {
    readonly subject?: AllocDirSubject;
    readonly same?: boolean;
    readonly allocId?: string;
    readonly mounter?: Mounter;
  }): Promise<AllocDirUnderTest>;
  /** What is left of all that the case made. */
  readonly leftovers: () => Promise<readonly string[]>;
  /** Fails if the work takes longer than a step may. */
  within<T>(work: Promise<T>, what: string, ms?: number): Promise<T>;
  /** Looks again and again, until it is so. */
  until(check: () => boolean | Promise<boolean>, what: string): Promise<void>;
  /** Lets the machine work for a while, in ms of the quick clock. */
  pause(ms: number): Promise<void>;
}

/** One case of the suite. */
export interface ConformanceCase {
  /** Stable: `<group>/<case>`. */
  readonly id: string;
  readonly title: string;
  readonly needs?: readonly Need[];
  /** The allocation is not built, and has no task. Otherwise it is, with a task `web`. */
  readonly fresh?: boolean;
  run(t: CaseBench): Promise<void>;
}
