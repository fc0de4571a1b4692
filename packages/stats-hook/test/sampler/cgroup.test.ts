import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { cgroupDirs, detectCgroups, type SampleTarget } from "../../src/sampler/index.ts";
import { KernelFileReader } from "../../src/sampler/kernel-file.ts";
import { PidUsages } from "../../src/sampler/pid-usages.ts";
import { ProcessForest } from "../../src/sampler/process-forest.ts";
import { ProcessTable } from "../../src/sampler/process-table.ts";
import { TaskReader } from "../../src/sampler/task-reader.ts";
import { logger } from "../harness.ts";
import { samplerHarness } from "./harness.ts";
import { FakeProc } from "./fake-proc.ts";

const MEMORY_V2 =
  "anon 1000\nfile 2000\nkernel 300\nkernel_stack 10\nsock 5\nslab 7\npagetables 1\nfile_mapped 400\ninactive_file 500\n";
function v2(proc: FakeProc, cpu: string): string {
  proc.file("cg/cpu.stat", cpu);
  proc.file("cg/memory.stat", MEMORY_V2);
  proc.file("cg/memory.current", "5000\n");
  proc.file("cg/memory.peak", "6000\n");
  proc.file("cg/memory.swap.current", "70\n");
  proc.file("cg/cgroup.procs", "");
  return `${proc.dir}/cg`;
}

describe("a cgroup of version 2", () => {
  it("gives totals, throttling and memory under Nomad's names, with swap alone and file_mapped", async () => {
    const { proc, clock, watch } = samplerHarness();
    const unified = v2(
      proc,
      "usage_usec 1000000\nuser_usec 600000\nsystem_usec 400000\nnr_periods 9\nnr_throttled 4\nthrottled_usec 25\n",
    );
    const t = watch({ cgroup: { unified } });
    await clock.advance(1000);
    v2(
      proc,
      "usage_usec 1500000\nuser_usec 900000\nsystem_usec 600000\nnr_periods 10\nnr_throttled 5\nthrottled_usec 26\n",
    );
    await clock.advance(1000);
    expect(t.memory(-1)).toEqual({
      RSS: 1000,
      Cache: 2000,
      Swap: 70,
      MappedFile: 400,
      Usage: 5000,
      MaxUsage: 6000,
      KernelUsage: 300,
      KernelMaxUsage: 0,
      WorkingSet: 4500,
      Measured: ["RSS", "Cache", "Swap", "Mapped File", "Usage", "Max Usage", "Kernel Usage"],
    });
    expect(t.cpu(-1)).toEqual({
      SystemMode: 20,
      UserMode: 30,
      Percent: 50,
      TotalTicks: 1000,
      ThrottledPeriods: 5,
      ThrottledTime: 26_000,
      Measured: ["System Mode", "User Mode", "Percent", "Throttled Periods", "Throttled Time"],
    });
  });

  it("without controllers only the CPU is measured; a missing file is not a zero", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.file("cg/cpu.stat", "usage_usec 5\nuser_usec 5\nsystem_usec 0\n");
    const t = watch({ cgroup: { unified: `${proc.dir}/cg` } });
    await clock.advance(2000);
    expect(t.cpu(-1).Measured).toEqual(["System Mode", "User Mode", "Percent"]);
    expect(t.memory(-1).Measured).toEqual([]);
    expect(t.memory(-1)).not.toHaveProperty("WorkingSet");
  });

  it("on kernels before 5.18 the kernel's share is the sum of its parts, or not measured", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.file("cg/memory.current", "1\n");
    proc.file("cg/memory.stat", "anon 1\nslab 7\nkernel_stack 10\n");
    const t = watch({ cgroup: { unified: `${proc.dir}/cg` } });
    await clock.advance(1000);
    expect(t.memory(-1).KernelUsage).toBe(17);
    proc.file("cg/memory.stat", "anon 1");
    await clock.advance(1000);
    expect(t.memory(-1).Measured).toEqual(["RSS", "Usage"]);
    expect(t.cpu(-1).Measured).toEqual([]);
  });

  it("a counter that goes back starts a new window", async () => {
    const { proc, clock, watch } = samplerHarness();
    const cpu = (us: number) => proc.file("cg/cpu.stat", `usage_usec ${us}\nuser_usec ${us}\nsystem_usec 0\n`);
    cpu(900_000);
    const t = watch({ cgroup: { unified: `${proc.dir}/cg` } });
    await clock.advance(1000);
    cpu(100_000);
    await clock.advance(1000);
    expect(t.cpu(-1)).toMatchObject({ Percent: 0, Measured: [] });
    cpu(200_000);
    await clock.advance(1000);
    expect(t.cpu(-1).Percent).toBe(10);
  });

  it("odd contents count as not measured", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.file("cg/cpu.stat", "usage_usec\nnr_periods 1\nusage_usec x");
    proc.file("cg/memory.current", "");
    proc.file("cg/memory.peak", "max\n");
    proc.file("cg/memory.stat", "");
    const t = watch({ cgroup: { unified: `${proc.dir}/cg` } });
    await clock.advance(1000);
    expect(t.cpu(0).Measured).toEqual([]);
    expect(t.memory(0).Measured).toEqual(["Max Usage"]);
    expect(t.memory(0).MaxUsage).toBe(Infinity);
  });

  it("a file longer than the buffer is read whole", async () => {
    const { proc, clock, watch } = samplerHarness();
    proc.file("cg/memory.current", "1\n");
    const filler = Array.from({ length: 4000 }, (_, i) => `key_number_${i} ${i}`).join("\n");
    proc.file("cg/memory.stat", `${filler}\nanon 77\n`);
    const t = watch({ cgroup: { unified: `${proc.dir}/cg` } });
    await clock.advance(1000);
    expect(t.memory(0).RSS).toBe(77);
  });

  it("ends without an error when the cgroup is removed", async () => {
    const { proc, clock, watch } = samplerHarness();
    const unified = v2(proc, "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
    const t = watch({ cgroup: { unified } });
    await clock.advance(1000);
    rmSync(unified, { recursive: true });
    await clock.advance(1000);
    expect(t.ends).toEqual([undefined]);
    const never = watch({ cgroup: { unified: `${proc.dir}/never` } });
    await clock.advance(1000);
    expect(never.ends).toEqual([undefined]);
  });
});

describe("cgroups of version 1 and both", () => {
  const v1 = (proc: FakeProc) => {
    proc.file("acct/cpuacct.usage", "5000000000\n");
    proc.file("acct/cpuacct.usage_user", "3000000000\n");
    proc.file("acct/cpuacct.usage_sys", "2000000000\n");
    proc.file("cpu/cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_time 99\n");
    proc.file("mem/memory.stat", "cache 11\nrss 22\nmapped_file 33\nswap 44\ntotal_inactive_file 5\n");
    proc.file("mem/memory.usage_in_bytes", "100\n");
    proc.file("mem/memory.max_usage_in_bytes", "200\n");
    proc.file("mem/memory.kmem.usage_in_bytes", "7\n");
    proc.file("mem/memory.kmem.max_usage_in_bytes", "8\n");
    return { cpuacct: `${proc.dir}/acct`, cpu: `${proc.dir}/cpu`, memory: `${proc.dir}/mem` };
  };

  it("version 1 gives all eight memory fields", async () => {
    const { proc, clock, watch } = samplerHarness();
    const t = watch({ cgroup: v1(proc) });
    await clock.advance(1000);
    proc.file("acct/cpuacct.usage", "5100000000\n");
    await clock.advance(1000);
    expect(t.memory(-1)).toMatchObject({
      RSS: 22,
      Cache: 11,
      Swap: 44,
      MappedFile: 33,
      Usage: 100,
      MaxUsage: 200,
      KernelUsage: 7,
      KernelMaxUsage: 8,
      WorkingSet: 95,
    });
    expect(t.memory(-1).Measured).toHaveLength(8);
    expect(t.cpu(-1)).toMatchObject({ Percent: 10, ThrottledPeriods: 2, ThrottledTime: 99 });
  });

  it("hybrid takes the CPU from version 2 and the memory from version 1", async () => {
    const { proc, clock, watch } = samplerHarness();
    const dirs = v1(proc);
    proc.file("uni/cpu.stat", "usage_usec 10\nuser_usec 10\nsystem_usec 0\n");
    const t = watch({ cgroup: { ...dirs, unified: `${proc.dir}/uni` } });
    await clock.advance(2000);
    expect(t.memory(-1).RSS).toBe(22);
    expect(t.cpu(-1).Measured).toEqual(["System Mode", "User Mode", "Percent"]);
  });

  it("modes and mounts are found in mountinfo, escapes included", () => {
    const v2Line = "24 23 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    expect(detectCgroups(v2Line)).toEqual({ mode: "v2", roots: { unified: "/sys/fs/cgroup" } });
    const v1Lines =
      "32 31 0:29 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n35 31 0:32 / /my\\040cg/memory rw shared:9 - cgroup cgroup rw,memory\n";
    expect(detectCgroups(v1Lines)).toEqual({
      mode: "v1",
      roots: { cpu: "/cg/cpu,cpuacct", cpuacct: "/cg/cpu,cpuacct", memory: "/my cg/memory" },
    });
    expect(detectCgroups(v1Lines + v2Line).mode).toBe("hybrid");
    expect(detectCgroups("1 2 3 / / rw - ext4 /dev/vda rw\nbroken - cgroup\nline\n")).toEqual({
      mode: "none",
      roots: {},
    });
    expect(["v1", "v2", "hybrid", "none"]).toContain(detectCgroups().mode);
  });

  it("folders of a cgroup are below each root", () => {
    const layout = { mode: "hybrid" as const, roots: { unified: "/u", memory: "/m" } };
    expect(cgroupDirs(layout, "/nomad/a.web/")).toEqual({ unified: "/u/nomad/a.web", memory: "/m/nomad/a.web" });
  });
});

describe("a cgroup with a process", () => {
  it("reports the processes of the cgroup's list, each once, without those that are gone", async () => {
    const { proc, clock, watch } = samplerHarness({ pidInterval: 1000 });
    const unified = v2(proc, "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
    proc.file("cg/cgroup.procs", "100\n101\n100\n999\n");
    proc.set(100, { rssPages: 2 });
    proc.set(101, {});
    const t = watch({ cgroup: { unified } });
    await clock.advance(1000);
    proc.set(100, { utime: 30 });
    proc.set(101, { start: 5000, utime: 99 });
    await clock.advance(1000);
    expect(Object.keys(t.samples[1]!.Pids)).toEqual(["100", "101"]);
    expect(t.samples[1]!.Pids[100]).toMatchObject({ CpuStats: { Percent: 30 }, MemoryStats: { RSS: 8192 } });
    expect(t.samples[1]!.Pids[101]!.CpuStats.Measured).toEqual([]);
  });

  it("a long list is read in slices", async () => {
    const { proc, clock, watch } = samplerHarness({ pidInterval: 1000 });
    const unified = v2(proc, "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
    for (let pid = 100; pid < 300; pid++) proc.set(pid, {});
    proc.file("cg/cgroup.procs", Array.from({ length: 200 }, (_, i) => `${100 + i}\n`).join(""));
    const t = watch({ cgroup: { unified } });
    await clock.advance(1000);
    expect(Object.keys(t.samples[0]!.Pids)).toHaveLength(200);
  });

  it("a cgroup without statistics falls back to the tree of the process", async () => {
    const { proc, clock, watch, log } = samplerHarness();
    proc.set(100, { rssPages: 4 });
    const t = watch({ cgroup: { unified: `${proc.dir}/none` }, pid: 100 });
    await clock.advance(1000);
    expect(t.memory(0).RSS).toBe(4 * 4096);
    expect(log.lines.map(([level]) => level)).toEqual(["debug"]);
  });

  describe("that may not be read", () => {
    class Denied extends KernelFileReader {
      override read(path: string): void {
        if (path.endsWith("cpu.stat")) throw Object.assign(new Error(`EACCES: ${path}`), { code: "EACCES" });
        super.read(path);
      }
    }
    const open = (proc: FakeProc, target: SampleTarget) => {
      const reader = new Denied();
      const log = logger();
      const table = new ProcessTable(proc.dir, 0, reader);
      const forest = new ProcessForest(table, proc.dir, 4096, 0);
      const shared = { procDir: proc.dir, reader, forest, logger: log, now: () => 0 };
      const pids = new PidUsages({
        ...shared,
        pageBytes: 4096,
        machine: { cores: 1, totalMHz: 0 },
        onClamp: () => undefined,
        swapping: () => false,
      });
      return { log, task: new TaskReader(target, shared, pids) };
    };

    it("falls back to the tree of its process, told once", () => {
      using proc = new FakeProc();
      const unified = v2(proc, "usage_usec 1\n");
      proc.set(100, { rssPages: 3 });
      const { log, task } = open(proc, { id: "x", cgroup: { unified }, pid: 100 });
      for (let i = 0; i < 2; i++)
        expect(task.read(false).next().value).toMatchObject({ raw: { memory: { rss: 3 * 4096 } } });
      expect(log.lines.map(([level]) => level)).toEqual(["warn"]);
      task.close();
    });

    it("ends unrecoverably without a process", () => {
      using proc = new FakeProc();
      const unified = v2(proc, "usage_usec 1\n");
      const { task } = open(proc, { id: "x", cgroup: { unified } });
      expect(() => task.read(false).next()).toThrow(
        expect.objectContaining({ code: "ERR_OUTRIDER_STATS_DENIED", recoverable: false }),
      );
    });
  });

  it("any other failure ends the stream with it, for the hook to try again", async () => {
    const { proc, clock, watch } = samplerHarness();
    const unified = v2(proc, "usage_usec 1\n");
    const t = watch({ cgroup: { unified } });
    await clock.advance(1000);
    rmSync(`${unified}/cpu.stat`);
    proc.file("cg/cpu.stat/not-a-file", "");
    await clock.advance(1000);
    expect(t.ends).toEqual([expect.objectContaining({ code: "EISDIR" })]);
  });
});
