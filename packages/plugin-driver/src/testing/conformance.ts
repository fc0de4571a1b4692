/** What a stock agent relies on, as cases for any driver and any test runner. */
import assert from "node:assert/strict";
import { systemClock } from "@outrider/backoff";
import { AGENT_CASES } from "./agent-cases.ts";
import { createBench } from "./bench.ts";
import type { Case, ConformanceOptions, Runner, Within } from "./conformance-case.ts";
import { TASK_CASES } from "./task-cases.ts";

const CASES: readonly Case[] = [...TASK_CASES, ...AGENT_CASES];

/** The ids of all cases. @public */
export const CONFORMANCE_CASES: readonly string[] = CASES.map(({ id }) => id);

const DEFAULT_STEP_MS = 10_000;

function applies(one: Case, o: ConformanceOptions): boolean {
  const { signals = false, stats = false, exec, recover = true } = o.capabilities ?? {};
  switch (one.needs) {
    case "signals":
      return signals;
    case "stats":
      return stats;
    case "no-stats":
      return !stats;
    case "exec":
      return exec !== undefined;
    case "recover":
      return recover;
    case "unstartable":
      return o.tasks.unstartable !== undefined;
    default:
      return true;
  }
}

/**
 * Declares one test a case. Each runs on a bench of its own.
 * @throws Error for a skipped id that is no case
 * @public
 */
export function driverConformance(runner: Runner, o: ConformanceOptions): void {
  const skipped = new Map((o.skip ?? []).map(({ id, reason }) => [id, reason]));
  for (const id of skipped.keys()) {
    if (!CONFORMANCE_CASES.includes(id)) throw new Error(`conformance: no case ${id}`);
  }
  const within: Within = (work, what) => {
    const ms = o.stepMs ?? DEFAULT_STEP_MS;
    const clock = o.clock ?? systemClock;
    return new Promise((resolve, reject) => {
      const timer = clock.setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
      void work.then(resolve, reject).finally(() => clock.clearTimeout(timer));
    });
  };
  const check = async (one: Case): Promise<void> => {
    await using bench = await createBench(o);
    await one.run(bench, o, within);
  };
  runner.describe("driver conformance", () => {
    for (const one of CASES) {
      if (!applies(one, o)) continue;
      const reason = skipped.get(one.id);
      if (reason === undefined) {
        runner.it(`${one.id}: ${one.title}`, () => check(one));
        continue;
      }
      runner.it(`${one.id} does not hold: ${reason}`, async () => {
        const failure: unknown = await check(one).then(
          () => undefined,
          (error: unknown) => error,
        );
        assert.notEqual(failure, undefined, `${one.id} holds: take it out of the skip list`);
      });
    }
  });
}
