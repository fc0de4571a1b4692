import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** `retry 0.13.1` from the installed package. */
export function peer(name: string): string {
  for (let dir = dirname(require.resolve(name)); ; dir = dirname(dir)) {
    try {
      const { name: found, version } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as {
        name?: string;
        version?: string;
      };
      if (found === name) return `${name} ${version}`;
    } catch {
      // Further up.
    }
  }
}

export interface Row {
  readonly case: string;
  readonly ours: number;
  readonly peer: string;
  readonly theirs: number;
  readonly unit: string;
  readonly goal: string;
}

/** Prints one result as a line of JSON. */
export function report(row: Row): void {
  const round = (n: number): number => Number(n.toPrecision(4));
  console.log(
    JSON.stringify({
      package: "@outrider/backoff",
      ...row,
      ours: round(row.ours),
      theirs: round(row.theirs),
      ratio: round(row.ours / row.theirs),
    }),
  );
}

/** Best time per call in ns of several rounds, the contenders taking turns so that all see the same machine. */
export function contest(contenders: readonly (() => void)[], callsPerRun: number, rounds = 7): number[] {
  const best = contenders.map(() => Infinity);
  for (let round = 0; round < rounds; round++) {
    for (const [i, run] of contenders.entries()) {
      const start = performance.now();
      run();
      best[i] = Math.min(best[i] as number, ((performance.now() - start) * 1e6) / callsPerRun);
    }
  }
  return best;
}
