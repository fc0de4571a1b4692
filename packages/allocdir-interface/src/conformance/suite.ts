import { systemClock } from "@outrider/backoff";
import { runCase } from "./bench.ts";
import type { ConformanceCase, Need } from "./case.ts";
import { CASES } from "./cases/index.ts";
import type { AllocDirSubject } from "./subject.ts";
import { ok } from "./ok.ts";

/** The functions of a test runner; vitest, mocha and `node:test` fit. @public */
export interface Runner {
  readonly describe: (title: string, body: () => void) => unknown;
  readonly it: ((title: string, body: () => Promise<void>) => unknown) & {
    /** Reports a test as skipped; without, a skipped case is a test that does nothing and says so in its title. */
    readonly skip?: (title: string, body: () => Promise<void>) => unknown;
  };
}

/** Options of {@link allocDirConformance} and {@link runAllocDirConformance}. @public */
export interface ConformanceOptions {
  /** Cases that are known not to hold, with the reason; one that would pass fails. */
  readonly skip?: readonly { readonly reason: string; readonly ids: readonly string[] }[];
  /** Implementations to move to and from. */
  readonly others?: readonly AllocDirSubject[];
  /** Only cases of these groups: `path`, `destroy` … Default: all. */
  readonly groups?: readonly string[];
  /** Longest time that a step may take. Default 10 s. */
  readonly stepMs?: number;
}

/** What became of a case. @public */
export interface CaseResult {
  readonly id: string;
  readonly result: "passed" | "failed" | "skipped";
  /** Why it was skipped, or what failed. */
  readonly reason?: string;
  readonly ms?: number;
}

/** Result of a whole run; plain JSON. @public */
export interface ConformanceReport {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly cases: readonly CaseResult[];
}

/** The ids of all cases. @public */
export const CONFORMANCE_CASES: readonly string[] = CASES.map(({ id }) => id);

const DEFAULT_STEP_MS = 10_000;

/** The first thing that a subject lacks for a case. */
function lacking(one: ConformanceCase, subject: AllocDirSubject, o: ConformanceOptions): Need | undefined {
  const { capabilities, faults = {} } = subject;
  const has = (need: Need): boolean => {
    switch (need) {
      case "plainSecrets":
        return capabilities.tmpfsSecrets !== true;
      case "unveil":
        return capabilities.isolation.includes("unveil");
      case "readOnlyDisk":
        return faults.readOnly !== undefined;
      case "fullDisk":
        return faults.full !== undefined;
      case "vanishingFolder":
        return faults.vanish !== undefined;
      case "otherImplementations":
        return o.others !== undefined && o.others.length > 0;
      default:
        return capabilities[need] === true;
    }
  };
  return one.needs?.find((need) => !has(need));
}

interface Plan {
  readonly one: ConformanceCase;
  /** Why the case is not tried. */
  readonly lacks?: string;
  /** Why the case is known not to hold: it is tried, and must fail. */
  readonly known?: string;
}

function planOf(subject: AllocDirSubject, o: ConformanceOptions): Plan[] {
  const known = new Map((o.skip ?? []).flatMap(({ reason, ids }) => ids.map((id) => [id, reason] as const)));
  for (const id of known.keys()) if (!CONFORMANCE_CASES.includes(id)) throw new Error(`conformance: no case ${id}`);
  const { groups } = o;
  const wanted = groups === undefined ? CASES : CASES.filter(({ id }) => groups.includes(id.slice(0, id.indexOf("/"))));
  return wanted.map((one) => {
    const lacks = lacking(one, subject, o);
    const reason = known.get(one.id);
    return { one, ...(lacks ? { lacks: `needs ${lacks}` } : {}), ...(reason === undefined ? {} : { known: reason }) };
  });
}

async function attempt({ one, known }: Plan, subject: AllocDirSubject, o: ConformanceOptions): Promise<void> {
  const run = runCase(one, subject, { others: o.others ?? [], stepMs: o.stepMs ?? DEFAULT_STEP_MS });
  if (known === undefined) return run;
  const held = await run.then(
    () => true,
    () => false,
  );
  ok(!held, `${one.id} holds: take it out of the skip list`);
}

/**
 * Declares one test a case; each runs on an allocation of its own.
 * @throws Error for a skipped id that is no case
 * @public
 */
export function allocDirConformance(runner: Runner, subject: AllocDirSubject, o: ConformanceOptions = {}): void {
  const plan = planOf(subject, o);
  const nothing = (): Promise<void> => Promise.resolve();
  runner.describe(`allocation directory conformance of ${subject.name}`, () => {
    for (const step of plan) {
      const { id, title } = step.one;
      if (step.lacks !== undefined) (runner.it.skip ?? runner.it)(`${id} is skipped: ${step.lacks}`, nothing);
      else if (step.known !== undefined)
        runner.it(`${id} does not hold: ${step.known}`, () => attempt(step, subject, o));
      else runner.it(`${id}: ${title}`, () => attempt(step, subject, o));
    }
  });
}

/**
 * Runs the cases without a test runner, one after the other.
 * @throws Error for an id that is no case
 * @public
 */
export async function runAllocDirConformance(
  subject: AllocDirSubject,
  o: ConformanceOptions & {
    /** Only these cases, in this order. Default: all. */
    readonly only?: readonly string[];
    /** Ends the run after the first failure. */
    readonly bail?: boolean;
  } = {},
): Promise<ConformanceReport> {
  const all = new Map(planOf(subject, o).map((step) => [step.one.id, step]));
  const cases: CaseResult[] = [];
  for (const id of o.only ?? all.keys()) {
    const step = all.get(id);
    if (step === undefined) throw new Error(`conformance: no case ${id}`);
    if (step.lacks !== undefined) {
      cases.push({ id, result: "skipped", reason: step.lacks });
      continue;
    }
    const start = systemClock.monotonic();
    const reason = await attempt(step, subject, o).then(
      () => step.known,
      (error: unknown) => error as Error,
    );
    const ms = Math.round(systemClock.monotonic() - start);
    if (reason instanceof Error) cases.push({ id, result: "failed", reason: reason.message, ms });
    else if (reason === undefined) cases.push({ id, result: "passed", ms });
    else cases.push({ id, result: "skipped", reason, ms });
    if (o.bail === true && cases.at(-1)?.result === "failed") break;
  }
  const count = (result: CaseResult["result"]): number => cases.filter((one) => one.result === result).length;
  return { name: subject.name, passed: count("passed"), failed: count("failed"), skipped: count("skipped"), cases };
}
