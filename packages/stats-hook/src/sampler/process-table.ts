import { closeSync, openSync, readdirSync } from "node:fs";
import { isGone, type KernelFileReader } from "./kernel-file.ts";
import { PidCounter } from "./pid-counter.ts";
import { emptyStat, parseStat, type ProcessStat } from "./process-stat.ts";

/** Processes outside of all trees that are looked at again with each list. */
const VERIFIED_AT_A_TIME = 8;
/** When more pids than this were given since the last list, a list is cheaper than trying each. */
const MAX_PROBED = 64;
/** A list is made at least every so many times. */
const MAX_PROBES = 60;

/** One process as last read. @internal */
export interface Process {
  readonly pid: number;
  /** When it started: the identity of the process, together with the pid. */
  readonly start: number;
  readonly stat: ProcessStat;
  /** Kept open: a reading costs half, and a new process of the same pid cannot be taken for this one. -1 when not. */
  fd: number;
}

/** All processes of the machine, listed now and then and read one by one. @internal */
export class ProcessTable {
  readonly #procDir: string;
  readonly #maxOpen: number;
  readonly #reader: KernelFileReader;
  readonly #known = new Map<number, Process>();
  #verifying = this.#known.values();
  readonly #pids: PidCounter;
  #newestPid: number | undefined;
  #probes = 0;
  #open = 0;
  #listedAtMs = -Infinity;

  constructor(procDir: string, maxOpen: number, reader: KernelFileReader) {
    this.#procDir = procDir;
    this.#maxOpen = maxOpen;
    this.#reader = reader;
    this.#pids = new PidCounter(procDir, reader);
  }

  /** Looks for new processes unless that was done within `maxAgeMs`; gives them, parents before children, or `undefined` when it did not look. */
  list(nowMs: number, maxAgeMs: number): Process[] | undefined {
    if (nowMs - this.#listedAtMs < maxAgeMs) return undefined;
    this.#listedAtMs = nowMs;
    const newest = this.#pids.newest();
    const before = this.#newestPid;
    this.#newestPid = newest;
    const wrapped = newest !== undefined && before !== undefined && newest < before;
    if (
      newest === undefined ||
      before === undefined ||
      wrapped ||
      newest - before > MAX_PROBED ||
      ++this.#probes > MAX_PROBES
    ) {
      this.#probes = 0;
      return this.#listAll(wrapped);
    }
    return this.#probe(before + 1, newest);
  }

  /** All processes that are known, in no order. */
  all(): Iterable<Process> {
    return this.#known.values();
  }

  /** The process of a pid, read now if it is not known. */
  find(pid: number): Process | undefined {
    return this.#known.get(pid) ?? this.#readNew(pid);
  }

  /** Keeps a file of this process open while there is room. */
  keepOpen(process: Process): void {
    if (process.fd >= 0 || this.#open >= this.#maxOpen) return;
    try {
      process.fd = openSync(this.#path(process.pid), "r");
      this.#open++;
    } catch {
      // Gone or too many files: reading will tell.
    }
  }

  /** Reads a process again; false when it is gone (also when its pid is another process now). */
  refresh(process: Process): boolean {
    try {
      if (process.fd >= 0) this.#reader.readOpen(process.fd);
      else this.#reader.read(this.#path(process.pid));
    } catch (error) {
      if (!isGone(error)) throw error;
      this.forget(process);
      return false;
    }
    if (parseStat(this.#reader, process.stat) && process.stat.start === process.start) return true;
    this.forget(process);
    return false;
  }

  /** Drops a process that is gone. */
  forget(process: Process): void {
    this.release(process);
    if (this.#known.get(process.pid) === process) this.#known.delete(process.pid);
  }

  /** Closes the file of a process. */
  release(process: Process): void {
    if (process.fd < 0) return;
    closeSync(process.fd);
    process.fd = -1;
    this.#open--;
  }

  /** Closes every file. */
  close(): void {
    for (const process of this.#known.values()) this.release(process);
    this.#known.clear();
  }

  #listAll(pidsWrapped: boolean): Process[] {
    if (pidsWrapped) this.#verifying = this.#known.values();
    this.#verify(pidsWrapped ? Infinity : VERIFIED_AT_A_TIME);
    const present = new Set<number>();
    const fresh: Process[] = [];
    for (const name of readdirSync(this.#procDir)) {
      const pid = Number(name);
      if (!Number.isInteger(pid)) continue;
      present.add(pid);
      if (this.#known.has(pid)) continue;
      const process = this.#readNew(pid);
      if (process !== undefined) fresh.push(process);
    }
    for (const [pid, process] of this.#known) if (!present.has(pid)) this.forget(process);
    return fresh.toSorted((a, b) => a.start - b.start || a.pid - b.pid);
  }

  /** Instead of a list: few pids were given since the last one. Threads have pids too. */
  #probe(from: number, to: number): Process[] {
    const fresh: Process[] = [];
    for (let pid = from; pid <= to; pid++) {
      if (this.#known.has(pid) || !this.#pids.isProcess(pid)) continue;
      const process = this.#readNew(pid);
      if (process !== undefined) fresh.push(process);
    }
    return fresh;
  }

  // A pid may have become another process between two lists: looked at in turn, those that changed are forgotten and found anew.
  #verify(count: number): void {
    for (let i = 0; i < count; i++) {
      const next = this.#verifying.next();
      if (next.done === true) {
        this.#verifying = this.#known.values();
        return;
      }
      if (next.value.fd < 0) this.refresh(next.value);
    }
  }

  #readNew(pid: number): Process | undefined {
    const stat = emptyStat();
    try {
      this.#reader.read(this.#path(pid));
    } catch {
      // Gone between the listing and now, or hidden from us.
      return undefined;
    }
    if (!parseStat(this.#reader, stat)) return undefined;
    const process = { pid, start: stat.start, stat, fd: -1 };
    this.#known.set(pid, process);
    return process;
  }

  #path(pid: number): string {
    return `${this.#procDir}/${pid}/stat`;
  }
}
