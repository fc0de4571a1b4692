import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { cpus } from "node:os";
import { describe, expect, it } from "vitest";
import { cgroupDirs, createSampler, detectCgroups } from "../../src/sampler/index.ts";
import { errorCode, KernelFileReader } from "../../src/sampler/kernel-file.ts";
import { readMachine } from "../../src/sampler/machine.ts";
import { emptyStat, parseStat } from "../../src/sampler/process-stat.ts";
import { ProcessTable } from "../../src/sampler/process-table.ts";
import { RateWindow } from "../../src/sampler/rate-window.ts";
import { FakeProc } from "./fake-proc.ts";
import { samplerHarness } from "./harness.ts";

const isLinux = process.platform === "linux";

/** A reader that has just read this text. */
function reading(proc: FakeProc, text: string, reader = new KernelFileReader()): KernelFileReader {
  reader.read(proc.file("some-file", text));
  return reader;
}

describe("a kernel file", () => {
  it("of key value lines: the first of equal keys counts, strange ones and look-alikes do not", () => {
    using proc = new FakeProc();
    const text = "xx 9\nyy 9\nab 1\nac 7\nabc 8\nab 3\ncd 2\ncd 4";
    expect(reading(proc, text).flat(["ab", "cd"])).toEqual([1, 2]);
    expect(reading(proc, text).flat(["cd", "none", "ab"])).toEqual([2, undefined, 1]);
    expect(reading(proc, "").flat(["ab"])).toEqual([undefined]);
  });

  it("that is shorter than the one before shows nothing of that one", () => {
    using proc = new FakeProc();
    const reader = reading(proc, "99999\nab 5\n");
    expect(reader.number()).toBe(99_999);
    reading(proc, "12", reader);
    expect([reader.number(), reader.length, reader.text()]).toEqual([12, 2, "12"]);
    expect(reading(proc, "max\n", reader).number()).toBe(Infinity);
    expect(reading(proc, "", reader).text()).toBe("");
  });

  it("of 40,000 bytes comes whole, and a failure has the system's code", () => {
    using proc = new FakeProc();
    const text = "0123456789".repeat(4000);
    expect(reading(proc, text).text()).toBe(text);
    expect([errorCode(null), errorCode({ code: 5 }), errorCode({ code: "EIO" })]).toEqual(["", "", "EIO"]);
  });
});

describe("a stat line", () => {
  it("gives every field from its own place", () => {
    using proc = new FakeProc();
    const given = { ppid: 2, pgrp: 3, session: 4, utime: 5, stime: 6, cutime: 7, cstime: 8, start: 9, rssPages: 10 };
    proc.set(100, given);
    const stat = emptyStat();
    expect(parseStat(reading(proc, readFileSync(`${proc.dir}/100/stat`, "latin1")), stat)).toBe(true);
    expect(stat).toEqual(given);
  });

  it("without a command, or cut short, is none", () => {
    using proc = new FakeProc();
    expect(parseStat(reading(proc, Array.from({ length: 30 }, (_, i) => i).join(" ")), emptyStat())).toBe(false);
    expect(parseStat(reading(proc, "100 (sh) S 1 2 3"), emptyStat())).toBe(false);
  });
});

describe("rates", () => {
  const machine = { cores: 2, totalMHz: 4000 };
  it("are not made when any of the three counters went back", () => {
    for (const [total, user, system] of [
      [50, 20, 20],
      [200, 5, 20],
      [200, 20, 5],
    ] as const) {
      const window = new RateWindow(machine, () => expect.unreachable());
      window.rates(0, 100, 10, 10);
      expect(window.rates(1000, total, user, system).Measured).toEqual([]);
    }
  });

  it("of just 5 % above all cores are cut silently, beyond that they are counted", () => {
    let clamped = 0;
    const window = new RateWindow(machine, () => clamped++);
    window.rates(0, 0, 0, 0);
    expect(window.rates(1000, 2_100_000, 0, 0)).toMatchObject({ Percent: 200, TotalTicks: 4000 });
    expect(clamped).toBe(0);
    window.rates(2000, 2_100_000 + 2_100_001, 0, 0);
    expect(clamped).toBe(1);
  });

  it("throttling is named as measured by its parts", () => {
    const raw = { atMs: 0, cpu: undefined, memory: {} };
    const measured = (throttledPeriods: number | undefined, throttledNs: number | undefined) =>
      new RateWindow(machine, () => undefined).taskUsage({ ...raw, throttledPeriods, throttledNs }).CpuStats;
    expect(measured(3, undefined)).toMatchObject({ ThrottledPeriods: 3, Measured: ["Throttled Periods"] });
    expect(measured(undefined, 7)).toMatchObject({ ThrottledTime: 7, Measured: ["Throttled Time"] });
    expect(measured(undefined, undefined).Measured).toEqual([]);
  });

  it("the working set needs both the usage and the inactive cache, and is never negative", () => {
    const memory = (given: object) =>
      new RateWindow(machine, () => undefined).taskUsage({
        atMs: 0,
        cpu: undefined,
        throttledPeriods: undefined,
        throttledNs: undefined,
        memory: given,
      }).MemoryStats;
    expect(memory({ usage: 5 })).not.toHaveProperty("WorkingSet");
    expect(memory({ inactiveFile: 5 })).not.toHaveProperty("WorkingSet");
    expect(memory({ usage: 5, inactiveFile: 7 }).WorkingSet).toBe(0);
  });
});

describe("places", () => {
  it("of a cgroup are joined with one slash, however the path is written", () => {
    const layout = { mode: "v2", roots: { unified: "/sys/fs/cgroup" } } as const;
    for (const path of ["a/b", "/a/b", "//a/b//"])
      expect(cgroupDirs(layout, path)).toEqual({ unified: "/sys/fs/cgroup/a/b" });
  });

  it("lines of mountinfo that tell nothing are passed over", () => {
    expect(detectCgroups("")).toEqual({ mode: "none", roots: {} });
    expect(detectCgroups("31 23 0:27 / /cg rw - cgroup\n32 23 0:27 / /x rw")).toEqual({ mode: "none", roots: {} });
  });

  it.runIf(isLinux)("without a text the machine's own mountinfo and procfs are read", () => {
    expect(detectCgroups()).toEqual(detectCgroups(readFileSync("/proc/self/mountinfo", "latin1")));
    using sampler = createSampler();
    expect(sampler.stats).toEqual({ tasks: 0, processes: 0, samples: 0, clamped: 0 });
  });

  it("clock rates are taken from whole lines of cpuinfo only", () => {
    using proc = new FakeProc();
    const cores = Math.max(1, cpus().length);
    proc.file("cpuinfo", "old cpu MHz : 1.5\ncpu MHz : 1000.5 or so\ncpu MHz : 2000\n".repeat(cores));
    expect(readMachine(proc.dir, proc.dir).totalMHz).toBe(2000 * cores);
  });

  it("folders of version 1 without their files are no cgroup of that kind", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.file("cpu/cpuacct.usage", "1000\n");
    proc.file("cpu/cpuacct.usage_user", "1000\n");
    proc.file("cpu/cpuacct.usage_sys", "0\n");
    const empty = `${proc.dir}/nowhere`;
    const t = watch({ cgroup: { cpuacct: `${proc.dir}/cpu`, cpu: empty, memory: empty } });
    await clock.advance(1000);
    expect(t.memory(0).Measured).toEqual([]);
    proc.file("mem/memory.stat", "rss 5\n");
    const m = watch({ id: "m", cgroup: { cpuacct: empty, cpu: empty, memory: `${proc.dir}/mem` } });
    await clock.advance(1000);
    expect(m.memory(0)).toMatchObject({ RSS: 5, Measured: ["RSS"] });
    expect([t.ends, m.ends]).toEqual([[], []]);
  });
});

describe("the table of processes", () => {
  it("gives new ones by start, then by pid: parents before children", () => {
    using proc = new FakeProc();
    for (const [pid, start] of [
      [200, 9],
      [100, 9],
      [300, 5],
      [90, 30],
    ] as const)
      proc.set(pid, { start });
    const table = new ProcessTable(proc.dir, 0, new KernelFileReader());
    expect(table.list(0, 0)?.map(({ pid }) => pid)).toEqual([300, 100, 200, 90]);
    expect(table.find(100)).toBe(table.find(100));
    expect(table.find(100)?.start).toBe(9);
    expect(table.find(7)).toBeUndefined();
  });

  it.runIf(isLinux)("keeps as many files open as it is allowed to, and room comes back", () => {
    using proc = new FakeProc();
    const openNow = (): number =>
      readdirSync("/proc/self/fd").filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(proc.dir);
        } catch {
          return false;
        }
      }).length;
    for (let pid = 100; pid < 105; pid++) proc.set(pid, {});
    const table = new ProcessTable(proc.dir, 2, new KernelFileReader());
    const all = table.list(0, 0)!;
    for (const one of all) table.keepOpen(one);
    expect(openNow()).toBe(2);
    table.release(all[0]!);
    table.release(all[0]!);
    expect(openNow()).toBe(1);
    for (const one of all.slice(2)) table.keepOpen(one);
    expect(openNow()).toBe(2);
    table.close();
    expect(openNow()).toBe(0);
  });
});

describe("system time of children", () => {
  it("that were waited for is found, and what was seen of it while they lived is not counted again", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, {});
    proc.set(101, { ppid: 100, stime: 10 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(101, { stime: 30, cstime: 20 });
    await clock.advance(1000);
    expect(t.cpu(-1)).toMatchObject({ SystemMode: 40, UserMode: 0, Percent: 40 });
    proc.end(101);
    proc.set(100, { cstime: 57 });
    await clock.advance(1000);
    expect(t.cpu(-1)).toMatchObject({ SystemMode: 7, Percent: 7 });
  });
});
