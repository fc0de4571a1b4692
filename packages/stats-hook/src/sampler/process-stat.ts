import type { KernelFileReader } from "./kernel-file.ts";

const CLOSE = 41;
const SPACE = 32;

/** A clock tick of procfs, µs: 1/100 s on every Linux. @internal */
export const TICK_US = 10_000;

/** What one line of `/proc/<pid>/stat` tells. Times are in clock ticks (1/100 s). @internal */
export interface ProcessStat {
  ppid: number;
  pgrp: number;
  session: number;
  utime: number;
  stime: number;
  /** Of children that were waited for. */
  cutime: number;
  cstime: number;
  /** When it started, ticks since boot: tells two processes of one pid apart. */
  start: number;
  rssPages: number;
}

// Positions after the last ")": the state is 0, so field n of proc(5) is n - 3.
const WANTED: ReadonlyArray<readonly [position: number, field: keyof ProcessStat]> = [
  [1, "ppid"],
  [2, "pgrp"],
  [3, "session"],
  [11, "utime"],
  [12, "stime"],
  [13, "cutime"],
  [14, "cstime"],
  [19, "start"],
  [21, "rssPages"],
];

/** Parses the line in the reader into `into`; false when it is no such line. @internal */
export function parseStat(reader: KernelFileReader, into: ProcessStat): boolean {
  const { bytes, length } = reader;
  // The command may hold spaces and parentheses itself.
  let i = bytes.lastIndexOf(CLOSE, length - 1);
  if (i < 0) return false;
  i += 2;
  let position = 0;
  for (const [wanted, field] of WANTED) {
    while (position < wanted) {
      while (i < length && bytes[i] !== SPACE) i++;
      if (i >= length) return false;
      i++;
      position++;
    }
    // Children's times are signed in the kernel; negative ones (a minus sign is no digit) count as none.
    into[field] = reader.numberAt(i) ?? 0;
  }
  return true;
}

/** An empty reading to parse into. @internal */
export function emptyStat(): ProcessStat {
  return { ppid: 0, pgrp: 0, session: 0, utime: 0, stime: 0, cutime: 0, cstime: 0, start: 0, rssPages: 0 };
}
