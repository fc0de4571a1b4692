import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createSampler } from "../../src/sampler/index.ts";
import { samplerHarness } from "./harness.ts";

describe("the usage of a process tree", () => {
  it("sums CPU and memory of the root and all that descends from it", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(1, { comm: "init", session: 1 });
    proc.set(100, { rssPages: 10 });
    proc.set(101, { ppid: 100, rssPages: 5 });
    proc.set(102, { ppid: 101, rssPages: 1 });
    proc.set(200, { rssPages: 1000 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(100, { utime: 50 });
    proc.set(102, { utime: 20, stime: 30 });
    await clock.advance(1000);
    expect(t.memory(-1)).toMatchObject({ RSS: 16 * 4096, Swap: 0, Measured: ["RSS", "Swap"] });
    expect(t.cpu(-1)).toEqual({
      SystemMode: 30,
      UserMode: 70,
      Percent: 100,
      TotalTicks: 2000,
      ThrottledPeriods: 0,
      ThrottledTime: 0,
      Measured: ["System Mode", "User Mode", "Percent"],
    });
  });

  it("the first sample has memory but no rate: 0 and not named as measured", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, { utime: 1_000_000 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    expect(t.cpu(0)).toMatchObject({ Percent: 0, Measured: [] });
    expect(t.memory(0).RSS).toBe(4096);
  });

  it("a process that was idle from birth gets its rate when it starts to work", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, {});
    const t = watch({ pid: 100 });
    await clock.advance(3000);
    proc.set(100, { utime: 25 });
    await clock.advance(1000);
    expect(t.samples.map((s) => s.ResourceUsage.CpuStats.Percent)).toEqual([0, 0, 0, 25]);
    expect(t.cpu(1).Measured).toContain("Percent");
  });

  it("a child born between samples counts with all it used", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, {});
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(101, { ppid: 100, start: 500, utime: 40 });
    await clock.advance(1000);
    expect(t.cpu(-1).Percent).toBe(40);
  });

  it("time of children that ended between samples is found at the parent that waited for them", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, {});
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(100, { cutime: 81 });
    await clock.advance(1000);
    expect(t.cpu(-1).Percent).toBe(81);
  });

  it("time of a child that was seen alive is not counted again when its parent waited for it", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, {});
    proc.set(101, { ppid: 100, utime: 10 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(101, { utime: 60 });
    await clock.advance(1000);
    expect(t.cpu(-1).Percent).toBe(50);
    proc.end(101);
    proc.set(100, { cutime: 65 });
    await clock.advance(1000);
    expect(t.cpu(-1).Percent).toBe(5);
  });

  it("a child whose parent does not wait makes the rate 0, never negative", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, {});
    proc.set(101, { ppid: 100, utime: 500 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.end(101);
    await clock.advance(1000);
    expect(t.cpu(-1)).toMatchObject({ Percent: 0, UserMode: 0 });
  });

  it("an orphan stays a member, and a process of the root's session or group is one from the start", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, {});
    proc.set(101, { ppid: 100, rssPages: 2 });
    proc.set(102, { ppid: 1, session: 100, rssPages: 4 });
    proc.set(103, { ppid: 1, pgrp: 100, rssPages: 8 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(101, { ppid: 1 });
    proc.set(104, { ppid: 1, session: 100, rssPages: 16 });
    proc.set(105, { ppid: 101, rssPages: 32 });
    await clock.advance(1000);
    expect(t.memory(-1).RSS).toBe((1 + 2 + 4 + 8 + 16 + 32) * 4096);
  });

  it("one process may belong to several watched trees", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, {});
    proc.set(101, { ppid: 100 });
    const outer = watch({ id: "outer", pid: 100 });
    const inner = watch({ id: "inner", pid: 101 });
    await clock.advance(1000);
    proc.set(101, { utime: 10 });
    proc.set(102, { ppid: 101, rssPages: 3 });
    await clock.advance(2000);
    expect(outer.memory(-1).RSS).toBe(5 * 4096);
    expect(inner.memory(-1).RSS).toBe(4 * 4096);
    outer.stop();
    proc.set(101, { utime: 30 });
    await clock.advance(1000);
    expect(inner.cpu(-1).Percent).toBe(20);
  });

  it("a command with spaces and parentheses does not shift the fields", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, { comm: "a) (b 1 2) S 9 9", rssPages: 7 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    expect(t.memory(0).RSS).toBe(7 * 4096);
  });

  it("a process that vanishes between list and read is skipped, the last one ends the stream without an error", async () => {
    const { proc, clock, watch, sampler } = samplerHarness();
    proc.set(100, {});
    proc.set(101, { ppid: 100 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.end(100);
    await clock.advance(1000);
    expect(t.samples).toHaveLength(2);
    proc.end(101);
    await clock.advance(1000);
    expect(t.ends).toEqual([undefined]);
    expect(t.samples).toHaveLength(2);
    expect(sampler.stats).toMatchObject({ tasks: 0, processes: 0, samples: 2 });
    expect(clock.pending).toEqual([]);
  });

  it("a pid that is another process now is gone", async () => {
    const { proc, clock, watch } = samplerHarness({ maxOpenFiles: 0 });
    proc.set(100, { start: 5 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(100, { start: 6 });
    await clock.advance(1000);
    expect(t.ends).toEqual([undefined]);
  });

  it("a new process with the root's pid, and the group that it leads, are not taken for the task's", async () => {
    const { proc, clock, watch } = samplerHarness({ maxOpenFiles: 0 });
    proc.set(100, { start: 5 });
    proc.set(101, { ppid: 100, pgrp: 101, session: 101, rssPages: 2 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(100, { start: 6, rssPages: 50 });
    proc.set(200, { ppid: 100, pgrp: 100, session: 100, start: 7, rssPages: 100 });
    await clock.advance(2000);
    expect(t.memory(-1).RSS).toBe(2 * 4096);
    proc.end(101);
    await clock.advance(1000);
    expect(t.ends).toEqual([undefined]);
  });

  it("a pid of an unrelated process that ended and became a child is noticed", async () => {
    const { proc, clock, watch } = samplerHarness({ maxOpenFiles: 0 });
    proc.set(100, {});
    proc.set(200, { start: 5 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(200, { ppid: 100, start: 900, rssPages: 9 });
    await clock.advance(4000);
    expect(t.memory(-1).RSS).toBe(10 * 4096);
  });

  it("a start time protects against a pid that was used again before the sampler looked", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, { start: 77 });
    const wrong = watch({ pid: 100, startTime: 76 });
    const right = watch({ pid: 100, startTime: 77 });
    const never = watch({ pid: 4711 });
    await clock.advance(1000);
    expect([wrong.ends, right.ends, never.ends]).toEqual([[undefined], [], [undefined]]);
    expect(right.samples).toHaveLength(1);
  });

  it("a line that is no stat line ends the process, not the sampler", async () => {
    const { proc, clock, watch } = samplerHarness({ maxOpenFiles: 0 });
    proc.set(100, {});
    proc.set(101, { ppid: 100 });
    proc.file("102/stat", "nonsense");
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.file("101/stat", "101 (sh) S 1");
    await clock.advance(1000);
    expect(t.memory(-1).RSS).toBe(4096);
  });

  it("many processes are read in slices, and files beyond the bound are opened each time", async () => {
    const { proc, clock, watch, sampler } = samplerHarness({ maxOpenFiles: 3 });
    proc.set(100, {});
    for (let i = 1; i < 300; i++) proc.set(100 + i, { ppid: 100 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    for (let i = 0; i < 300; i++) proc.set(100 + i, { utime: 1 });
    await clock.advance(1000);
    expect(t.cpu(-1).Percent).toBe(300);
    expect(sampler.stats.processes).toBe(300);
    proc.end(250);
    await clock.advance(1000);
    expect(sampler.stats.processes).toBe(299);
  });

  it("the sampler's end closes every stream and file", async () => {
    const { proc, clock, watch, sampler } = samplerHarness();
    proc.set(100, {});
    const t = watch({ pid: 100 });
    const u = watch({ id: "u", pid: 100 }, 5000);
    await clock.advance(1000);
    sampler[Symbol.dispose]();
    expect([t.ends, u.ends]).toEqual([[undefined], [undefined]]);
    expect(clock.pending).toEqual([]);
  });
});

describe("finding new processes", () => {
  const setUp = async (more = {}) => {
    const h = samplerHarness(more);
    h.proc.newestPid(150);
    h.sampler[Symbol.dispose]();
    const fresh = createSampler({
      clock: h.clock,
      procDir: h.proc.dir,
      sysDir: h.proc.dir,
      cores: 4,
      pidInterval: Infinity,
    });
    h.proc.set(100, {});
    const samples: number[] = [];
    const stop = fresh
      .source({ id: "t", pid: 100 })
      .subscribe(
        { next: (s) => void samples.push(s.ResourceUsage.MemoryStats.RSS / 4096), end: () => undefined },
        1000,
      ) as () => void;
    await h.clock.advance(1000);
    return { ...h, samples, stop };
  };

  it("only the pids that the kernel gave since then are looked at, and threads are no processes", async () => {
    const { proc, clock, samples, stop } = await setUp();
    // Not looked at: its pid was not given since the last list.
    proc.set(120, { ppid: 100 });
    await clock.advance(1000);
    expect(samples).toEqual([1, 1]);
    proc.set(151, { ppid: 100, rssPages: 4 });
    proc.set(152, { ppid: 100, pgrp: 100, rssPages: 100, tgid: 151 });
    proc.set(153, { ppid: 151, rssPages: 8 });
    proc.newestPid(155);
    await clock.advance(1000);
    expect(samples.at(-1)).toBe(13);
    stop();
  });

  it("a list is made when many pids were given, when they began anew, and now and then", async () => {
    const { proc, clock, samples, stop } = await setUp();
    proc.set(120, { ppid: 100 });
    proc.newestPid(300);
    await clock.advance(1000);
    expect(samples.at(-1)).toBe(2);
    proc.set(121, { ppid: 100 });
    proc.newestPid(90);
    await clock.advance(1000);
    expect(samples.at(-1)).toBe(3);
    proc.set(122, { ppid: 100 });
    await clock.advance(60_000);
    expect(samples.at(-1)).toBe(3);
    await clock.advance(1000);
    expect(samples.at(-1)).toBe(4);
    stop();
  });

  it("after pids began anew every known process is looked at again", async () => {
    const { proc, clock, samples, stop } = await setUp();
    for (let pid = 200; pid < 240; pid++) proc.set(pid, {});
    proc.newestPid(400);
    await clock.advance(1000);
    for (let pid = 200; pid < 240; pid++) proc.set(pid, { ppid: 100, start: 9000 });
    proc.newestPid(250);
    await clock.advance(1000);
    expect(samples.at(-1)).toBe(41);
    stop();
  });

  it("without a readable or sensible loadavg a list is made each time", async () => {
    for (const text of ["", "0.1 0.2 nonsense", undefined]) {
      const { proc, clock, samples, stop } = await setUp();
      if (text === undefined) rmSync(`${proc.dir}/loadavg`);
      else proc.file("loadavg", text);
      proc.set(120, { ppid: 100 });
      await clock.advance(1000);
      expect(samples.at(-1)).toBe(2);
      stop();
    }
  });
});

describe("single processes", () => {
  it("are reported every pid interval with a time of their own, never stamped anew", async () => {
    const { proc, clock, watch } = samplerHarness({ pidInterval: 2000 });
    proc.set(100, {});
    proc.set(101, { ppid: 100, rssPages: 3 });
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(101, { utime: 100 });
    await clock.advance(3000);
    const times = t.samples.map((s) => s.PidsTimestamp);
    expect(times[1]).toBe(times[0]);
    expect(times[2]).toBeGreaterThan(times[1]!);
    expect(times[2]).toBe(t.samples[2]!.Timestamp);
    expect(Object.keys(t.samples[2]!.Pids)).toEqual(["100", "101"]);
    expect(t.samples[2]!.Pids[101]).toMatchObject({ CpuStats: { Percent: 50 }, MemoryStats: { RSS: 3 * 4096 } });
    expect(t.samples[0]!.Pids[101]!.CpuStats.Measured).toEqual([]);
  });

  it("swap is read from them only when the machine swaps, and is not measured in between", async () => {
    const { proc, clock, watch } = samplerHarness({ pidInterval: 2000 });
    proc.set(100, { swapKb: 4 });
    proc.set(101, { ppid: 100, swapKb: 6 });
    proc.swaps(true);
    const t = watch({ pid: 100 });
    await clock.advance(2000);
    expect(t.memory(0)).toMatchObject({ Swap: 10 * 1024, Measured: ["RSS", "Swap"] });
    expect(t.memory(1)).toMatchObject({ Swap: 0, Measured: ["RSS"] });
    proc.file("100/status", "Name: kernel thread\n");
    await clock.advance(1000);
    expect(t.memory(2)).toMatchObject({ Swap: 6 * 1024 });
  });

  it("one that vanishes while being looked at is left out", async () => {
    const { proc, clock, watch } = samplerHarness({ pidInterval: 0 });
    proc.set(100, {});
    proc.set(101, { ppid: 100 });
    proc.swaps(true);
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.end(101);
    // The kept file still answers, as procfs would for a moment; the status file is gone.
    await clock.advance(1000);
    expect(Object.keys(t.samples[1]!.Pids)).toEqual(["100"]);
  });

  it("without the list of swaps nothing swaps", async () => {
    const { proc, clock, watch } = samplerHarness();
    rmSync(`${proc.dir}/swaps`);
    proc.set(100, {});
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    expect(t.memory(0).Measured).toContain("Swap");
  });
});

describe("rates", () => {
  it("a window under 50 ms is merged into the next one", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.set(100, {});
    const t = watch({ pid: 100 }, 40);
    await clock.advance(40);
    proc.set(100, { utime: 4 });
    await clock.advance(40);
    expect(t.cpu(-1).Measured).toEqual([]);
    await clock.advance(40);
    expect(t.cpu(-1).Percent).toBe(50);
  });

  it("a rate beyond the machine is cut and counted", async () => {
    const { proc, clock, watch, sampler } = samplerHarness();
    proc.set(100, {});
    const t = watch({ pid: 100 });
    await clock.advance(1000);
    proc.set(100, { utime: 401 });
    await clock.advance(1000);
    expect(t.cpu(-1).Percent).toBe(400);
    expect(sampler.stats.clamped).toBe(0);
    proc.set(100, { utime: 2401 });
    await clock.advance(1000);
    expect(t.cpu(-1)).toMatchObject({ Percent: 400, UserMode: 400, TotalTicks: 8000 });
    expect(sampler.stats.clamped).toBe(1);
  });
});

describe("bad input", () => {
  it.each([
    ["pidInterval", { pidInterval: -1 }],
    ["listInterval", { listInterval: Number.NaN }],
    ["maxOpenFiles", { maxOpenFiles: -1 }],
    ["cores", { cores: 0 }],
    ["totalMHz", { totalMHz: -5 }],
  ])("a wrong %s is refused by name", (field, options) => {
    expect(() => samplerHarness(options)).toThrow(
      expect.objectContaining({ code: "ERR_OUTRIDER_STATS_OPTION", details: expect.objectContaining({ field }) }),
    );
  });

  it("a place without procfs is refused", () => {
    expect(() => samplerHarness({ procDir: "/nonexistent" })).toThrow(
      expect.objectContaining({ code: "ERR_OUTRIDER_STATS_PLATFORM" }),
    );
  });

  it.each([
    ["id", { id: "", pid: 1 }],
    ["target", { id: "x" }],
    ["pid", { id: "x", pid: 0 }],
    ["pid", { id: "x", pid: 1.5 }],
    ["startTime", { id: "x", pid: 1, startTime: -1 }],
  ])("a target with a wrong %s is refused", (field, target) => {
    const { sampler } = samplerHarness();
    expect(() => sampler.source(target)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ field }) }),
    );
  });

  it("an interval below the least is refused when the stream opens", () => {
    const { sampler } = samplerHarness();
    expect(() =>
      sampler.source({ id: "x", pid: 1 }).subscribe({ next: () => undefined, end: () => undefined }, 1),
    ).toThrow("intervalMs");
    expect(sampler.stats.tasks).toBe(0);
  });
});
