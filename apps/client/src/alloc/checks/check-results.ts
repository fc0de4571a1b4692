import type { CheckResult } from "./alloc-checks.ts";

/** What a runner's service checks last said, by check; empty for a runner that makes none. */
export function checkResultsOf(runner: object): Record<string, CheckResult> {
  if (!("checkResults" in runner) || typeof runner.checkResults !== "function") return {};
  return { ...(runner as { checkResults(): Readonly<Record<string, CheckResult>> }).checkResults() };
}
