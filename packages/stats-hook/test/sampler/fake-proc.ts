import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface FakeProcess {
  ppid?: number;
  pgrp?: number;
  session?: number;
  utime?: number;
  stime?: number;
  cutime?: number;
  cstime?: number;
  start?: number;
  rssPages?: number;
  comm?: string;
  swapKb?: number;
  /** Another one than its pid makes it a thread. */
  tgid?: number;
}

/** Folders and files in the shape of procfs, cgroupfs and sysfs. */
export class FakeProc {
  readonly dir = mkdtempSync(join(tmpdir(), "sampler-"));
  readonly #all = new Map<number, Required<FakeProcess>>();

  constructor() {
    this.file("self/stat", "");
    this.swaps(false);
  }

  file(path: string, text: string | Uint8Array): string {
    const full = join(this.dir, path);
    mkdirSync(join(full, ".."), { recursive: true });
    writeFileSync(full, text);
    return full;
  }

  /** Makes it the procfs of this process's own namespace, where loadavg tells the newest pid. */
  newestPid(pid: number): void {
    rmSync(join(this.dir, "self"), { recursive: true, force: true });
    this.file(`${process.pid}/stat`, "");
    symlinkSync(String(process.pid), join(this.dir, "self"));
    this.file("loadavg", `0.10 0.20 0.30 1/600 ${pid}\n`);
  }

  swaps(on: boolean): void {
    this.file("swaps", `Filename\tType\tSize\n${on ? "/swap file 1024\n" : ""}`);
  }

  set(pid: number, more: FakeProcess): void {
    const p = {
      ppid: 1,
      pgrp: pid,
      session: pid,
      utime: 0,
      stime: 0,
      cutime: 0,
      cstime: 0,
      start: pid,
      rssPages: 1,
      comm: "sh",
      swapKb: 0,
      tgid: pid,
      ...this.#all.get(pid),
      ...more,
    };
    this.#all.set(pid, p);
    const fields = [
      pid,
      `(${p.comm})`,
      "S",
      p.ppid,
      p.pgrp,
      p.session,
      0,
      -1,
      0,
      0,
      0,
      0,
      0,
      p.utime,
      p.stime,
      p.cutime,
      p.cstime,
      20,
      0,
      1,
      0,
      p.start,
      1000,
      p.rssPages,
      0,
    ];
    this.file(`${pid}/stat`, `${fields.join(" ")}\n`);
    this.file(`${pid}/status`, `Name:\tsh\nTgid:\t${p.tgid}\nVmSwap:\t${p.swapKb} kB\n`);
  }

  end(pid: number): void {
    this.#all.delete(pid);
    rmSync(join(this.dir, String(pid)), { recursive: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
