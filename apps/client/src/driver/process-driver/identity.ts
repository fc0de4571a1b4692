/** Which process a saved pid means: pid, start time and boot together. */
import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** Start time of a process that nobody could read in time. Such a process is never signalled. */
export const UNKNOWN_START = "0";

/** A process as it was seen. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of `/proc/<pid>/stat`: clock ticks since boot, as text. */
  readonly startTime: string;
}

/** The fields of `/proc/<pid>/stat` that the driver needs. */
export interface ProcStat {
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startTime: string;
}

const buffer = Buffer.alloc(4096);

/** Reads a process's state, or `undefined` when there is no such process or it may not be read. */
export function readProcStat(pid: number): ProcStat | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(`/proc/${pid}/stat`, "r");
    const length = readSync(fd, buffer, 0, buffer.length, 0);
    const text = buffer.toString("latin1", 0, length);
    // the command name in parentheses may itself hold spaces and parentheses
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return {
      state: fields[0] ?? "?",
      parent: Number(fields[1]),
      group: Number(fields[2]),
      session: Number(fields[3]),
      startTime: fields[19] ?? UNKNOWN_START,
    };
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The id of this boot; start times of another boot mean nothing. */
export function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** Whether that very process is alive (a zombie is not). */
export function isAlive(identity: ProcessIdentity): boolean {
  if (identity.startTime === UNKNOWN_START) return false;
  const stat = readProcStat(identity.pid);
  return stat !== undefined && stat.startTime === identity.startTime && stat.state !== "Z" && stat.state !== "X";
}

/** Signals that very process, checked in the same turn. Returns whether it was there. */
export function signalProcess(identity: ProcessIdentity, signal: number): boolean {
  if (identity.pid <= 1 || !isAlive(identity)) return false;
  return kill(identity.pid, signal);
}

/** `kill(2)` that answers false for a process that is gone. */
export function kill(pid: number, signal: number): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw reason;
  }
}
