/** Which process a saved pid meant: a pid alone may name a stranger after some time. */
import { readFileSync } from "node:fs";

/**
 * A process, told apart from any later one with the same pid.
 * @public
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Ticks since boot at which it started: field 22 of `/proc/<pid>/stat`. */
  readonly startTime: string;
  readonly bootId: string;
}

/** Reads files of /proc; undefined when there is none. For tests. */
export type ReadProc = (path: string) => string | undefined;

const readProc: ReadProc = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
};

/**
 * The identity of a running process; undefined when it is gone, a zombie, or where there is no `/proc`.
 * @public
 */
export function processIdentity(pid: number, read: ReadProc = readProc): ProcessIdentity | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const bootId = read("/proc/sys/kernel/random/boot_id")?.trim();
  const stat = read(`/proc/${pid}/stat`);
  if (bootId === undefined || stat === undefined) return undefined;
  // The name may hold blanks and brackets: the fields start after the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  const startTime = fields[19];
  if (startTime === undefined || startTime === "0" || state === "Z" || state === "X") return undefined;
  return { pid, startTime, bootId };
}

/**
 * Whether that very process still runs.
 * @public
 */
export function isAlive(identity: ProcessIdentity, read: ReadProc = readProc): boolean {
  const now = processIdentity(identity.pid, read);
  return now !== undefined && now.startTime === identity.startTime && now.bootId === identity.bootId;
}

/**
 * Signals that very process, or with `group` the process group that it leads; false when it no longer runs. Check and signal
 * happen in one turn.
 * @public
 */
export function signalProcess(
  identity: ProcessIdentity,
  signal: NodeJS.Signals,
  o: {
    readonly group?: boolean;
    readonly read?: ReadProc;
    readonly kill?: (pid: number, signal: NodeJS.Signals) => void;
  } = {},
): boolean {
  const { read = readProc, kill = (pid, name) => void process.kill(pid, name) } = o;
  if (!isAlive(identity, read)) return false;
  const stat = read(`/proc/${identity.pid}/stat`) ?? "";
  const leads = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2] === String(identity.pid);
  try {
    kill(o.group === true && leads ? -identity.pid : identity.pid, signal);
    return true;
  } catch {
    return false;
  }
}
