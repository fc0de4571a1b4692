import { parseCron } from "@outrider/cron-schedule";
import { matches, patternText, type PlainPattern, readWalls, type Transition } from "./brute-force.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

type Missing = "skip" | "shift";
type Repeated = "first" | "last" | "both";

/** All runs of a pattern as indexes of `walls`, by reading the clock minute by minute. */
export function runsOf(walls: Int32Array, pattern: PlainPattern, missing: Missing, repeated: Repeated): number[] {
  const wild = pattern.hours === null;
  const at = new Map<number, number[]>();
  for (const [i, wall] of walls.entries()) at.set(wall, [...(at.get(wall) ?? []), i]);
  const runs = new Set<number>();
  for (const [wall, times] of at) {
    if (!matches(pattern, wall)) continue;
    if (wild || repeated === "both") for (const i of times) runs.add(i);
    else runs.add((repeated === "first" ? times[0] : times.at(-1)) as number);
  }
  if (missing === "shift" && !wild) {
    for (let i = 1; i < walls.length; i++) {
      for (let wall = (walls[i - 1] as number) + 1; wall < (walls[i] as number); wall++)
        if (matches(pattern, wall)) runs.add(i);
    }
  }
  return [...runs].sort((a, b) => a - b);
}

/** Compares `next` and `previous` with that list around a transition. Returns the first difference as text. */
export function checkCronRuns(
  zone: string,
  { at }: Transition,
  pattern: PlainPattern,
  missing: Missing,
  repeated: Repeated,
): string | undefined {
  const from = Math.floor(at / DAY) * DAY - 3 * DAY;
  const walls = readWalls(zone, from, from + 7 * DAY);
  const runs = runsOf(walls, pattern, missing, repeated).map((i) => from + i * MINUTE);
  const expression = patternText(pattern, 6);
  const cron = parseCron(expression, { timezone: zone, missing, repeated });
  const label = `${expression} in ${zone} (${missing}, ${repeated})`;
  for (const [i, run] of runs.entries()) {
    const before = runs[i - 1];
    if (before !== undefined) {
      for (const start of [before, before + 1, run - 1]) {
        const next = cron.next(start)?.getTime();
        if (next !== run)
          return `${label}: next after ${new Date(start).toISOString()} is ${next && new Date(next).toISOString()}, want ${new Date(run).toISOString()}`;
      }
      for (const end of [run, run - 1, before + 1]) {
        const previous = cron.previous(end)?.getTime();
        if (previous !== before)
          return `${label}: previous before ${new Date(end).toISOString()} is ${previous && new Date(previous).toISOString()}, want ${new Date(before).toISOString()}`;
      }
    }
  }
  // The rest of the week is silent too.
  const last = runs.at(-1) ?? from;
  const after = cron.next(last);
  if (after !== null && after.getTime() < from + 6 * DAY) return `${label}: an extra run at ${after.toISOString()}`;
  return undefined;
}
