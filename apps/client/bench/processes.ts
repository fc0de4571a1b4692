import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks a second, fixed by the kernel's ABI. */
const TICKS = 100;

interface Stat {
  readonly pid: number;
  readonly ppid: number;
  readonly name: string;
  /** Own and reaped children's CPU, ms. */
  readonly cpuMs: number;
}

function statOf(pid: string): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const close = text.lastIndexOf(")");
    const fields = text.slice(close + 2).split(" ");
    const ticks = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0);
    return {
      pid: Number(pid),
      ppid: Number(fields[1]),
      name: text.slice(text.indexOf("(") + 1, close),
      cpuMs: (ticks * 1000) / TICKS,
    };
  } catch {
    return undefined;
  }
}

const all = (): Stat[] =>
  readdirSync("/proc")
    .filter((n) => /^\d+$/.test(n))
    .map(statOf)
    .filter((s) => s !== undefined);

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
};

/** The processes of an agent: everything whose command line holds this word, and all below them. */
export function processesOf(word: string): Stat[] {
  const list = all();
  const taken = new Set(list.filter((s) => s.pid !== process.pid && commandOf(s.pid).includes(word)).map((s) => s.pid));
  for (let grew = true; grew;) {
    grew = false;
    for (const s of list) {
      if (!taken.has(s.pid) && taken.has(s.ppid)) {
        taken.add(s.pid);
        grew = true;
      }
    }
  }
  return list.filter((s) => taken.has(s.pid));
}

/** Proportional set size, MB. */
export function pssMb(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

export const cpuMsOf = (list: readonly Stat[]): number => list.reduce((sum, s) => sum + s.cpuMs, 0);
export { commandOf };
