import { readFileSync } from "node:fs";

/** Who a process is: a pid alone may belong to another one later. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Ticks after boot at which it started (`/proc/<pid>/stat`, field 22). */
  readonly startTime: string;
  readonly bootId: string;
}

/** Id of this boot of the kernel. */
export function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** Start time of a living process, undefined when there is none of that id. */
export function readStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command in parentheses may hold spaces and parentheses itself.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

/** This process. */
export function selfIdentity(): ProcessIdentity {
  return { pid: process.pid, startTime: readStartTime(process.pid) ?? "0", bootId: readBootId() };
}

/** Whether exactly this process lives. */
export function isAlive(identity: ProcessIdentity): boolean {
  return identity.bootId === readBootId() && readStartTime(identity.pid) === identity.startTime;
}
