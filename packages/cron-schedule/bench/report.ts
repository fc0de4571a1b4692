import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** `croner 11.0.1` from the installed package. */
export function peer(name: string): string {
  for (let dir = dirname(require.resolve(name)); ; dir = dirname(dir)) {
    try {
      const found = JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as { name?: string; version?: string };
      if (found.name === name) return `${name} ${found.version}`;
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
      package: "@outrider/cron-schedule",
      ...row,
      ours: round(row.ours),
      theirs: round(row.theirs),
      ratio: round(row.ours / row.theirs),
    }),
  );
}

/** Best CPU time per call in µs of several rounds, the contenders taking turns so that all see the same machine. */
export function contest(contenders: readonly (readonly [calls: number, run: () => void])[], rounds = 5): number[] {
  const best = contenders.map(() => Infinity);
  for (let round = 0; round < rounds; round++) {
    for (const [i, [calls, run]] of contenders.entries()) {
      const start = process.cpuUsage();
      run();
      const { user, system } = process.cpuUsage(start);
      best[i] = Math.min(best[i] as number, (user + system) / calls);
    }
  }
  return best;
}
