import { TICK_US } from "./process-stat.ts";
import type { Process, ProcessTable } from "./process-table.ts";
import type { RawUsage } from "./usage.ts";

/** What a member had used at the last reading, ticks. */
interface Member {
  readonly process: Process;
  utime: number;
  stime: number;
  cutime: number;
  cstime: number;
}

/**
 * The processes of one task: a root, whatever descends from it, and whatever is in a session or process group that the root leads. Once a member, a
 * process stays one, also when its parent dies. Adds up CPU time so that nothing is lost or counted twice when members are born and die. @internal
 */
export class ProcessTree {
  readonly rootPid: number;
  readonly #table: ProcessTable;
  readonly #pageBytes: number;
  readonly #members = new Map<number, Member>();
  #cursor: Iterator<Member> | undefined;
  /** Ticks used so far by this tree, as far as was seen. */
  #user = 0;
  #system = 0;
  /** Of the reading under way: ticks gained by children that were waited for, and what members that died since the last one had been counted with. */
  #reaped = { user: 0, system: 0 };
  #died = { user: 0, system: 0 };
  #rssPages = 0;
  /** Whether the root's pid still names the group and session that the root led. */
  #leads = true;

  constructor(rootPid: number, table: ProcessTable, pageBytes: number) {
    this.rootPid = rootPid;
    this.#table = table;
    this.#pageBytes = pageBytes;
  }

  get size(): number {
    return this.#members.size;
  }

  has(pid: number): boolean {
    return this.#members.has(pid);
  }

  /** The members' processes. */
  *processes(): Iterable<Process> {
    for (const { process } of this.#members.values()) yield process;
  }

  /** Whether a process belongs here: by its group or session, or by its parent. */
  claims({ stat }: Process): boolean {
    return (this.#leads && (stat.pgrp === this.rootPid || stat.session === this.rootPid)) || this.has(stat.ppid);
  }

  /**
   * A new process has this pid: what had it before is gone, although nobody has looked yet. If that was the root, its group and session are gone too,
   * since the kernel does not give a pid that still names one.
   */
  replace(pid: number): void {
    if (pid === this.rootPid) this.#leads = false;
    const member = this.#members.get(pid);
    if (member !== undefined) this.#drop(member);
  }

  add(process: Process): void {
    this.#table.keepOpen(process);
    const { utime, stime, cutime, cstime } = process.stat;
    this.#members.set(process.pid, { process, utime, stime, cutime, cstime });
    // Born since the last reading, or there from the start: then it only shifts the first reading, of which no rate is made.
    this.#user += utime + cutime;
    this.#system += stime + cstime;
  }

  /** Begins a reading of all members. */
  begin(): void {
    this.#cursor = this.#members.values();
    this.#reaped = { user: 0, system: 0 };
    this.#rssPages = 0;
  }

  /** Reads up to `count` members; true when all have been read. */
  step(count: number): boolean {
    for (let i = 0; i < count; i++) {
      const next = this.#cursor?.next();
      if (next === undefined || next.done === true) return true;
      this.#read(next.value);
    }
    return false;
  }

  /** The outcome of a reading that is complete. */
  finish(atMs: number): RawUsage {
    // Time of children that were waited for appears at the parent; what was seen of it while they lived is counted already.
    this.#user += Math.max(0, this.#reaped.user - this.#died.user);
    this.#system += Math.max(0, this.#reaped.system - this.#died.system);
    this.#died = { user: 0, system: 0 };
    const userUs = this.#user * TICK_US;
    const systemUs = this.#system * TICK_US;
    return {
      atMs,
      cpu: { totalUs: userUs + systemUs, userUs, systemUs },
      throttledPeriods: undefined,
      throttledNs: undefined,
      memory: { rss: this.#rssPages * this.#pageBytes },
    };
  }

  /** Lets all members go. */
  release(): void {
    for (const { process } of this.#members.values()) this.#table.release(process);
    this.#members.clear();
  }

  #drop(member: Member): void {
    this.#members.delete(member.process.pid);
    this.#died.user += member.utime + member.cutime;
    this.#died.system += member.stime + member.cstime;
  }

  #read(member: Member): void {
    const { process } = member;
    if (!this.#table.refresh(process)) return this.#drop(member);
    const { utime, stime, cutime, cstime, rssPages } = process.stat;
    this.#user += Math.max(0, utime - member.utime);
    this.#system += Math.max(0, stime - member.stime);
    this.#reaped.user += cutime - member.cutime;
    this.#reaped.system += cstime - member.cstime;
    this.#rssPages += rssPages;
    member.utime = utime;
    member.stime = stime;
    member.cutime = cutime;
    member.cstime = cstime;
  }
}
