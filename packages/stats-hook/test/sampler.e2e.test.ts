import { spawn, type ChildProcess } from "node:child_process";
import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { StatsHook } from "../src/index.ts";
import { cgroupDirs, createSampler, detectCgroups, type TaskUsage } from "../src/sampler/index.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) {
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch {
      // Ended by itself.
    }
  }
});
const start = (command: string, args: string[]): ChildProcess => {
  const child = spawn(command, args, { detached: true, stdio: ["pipe", "pipe", "inherit", "ipc"] });
  children.push(child);
  return child;
};
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
async function until(what: string, check: () => boolean): Promise<void> {
  for (const over = performance.now() + 60_000; !check(); await wait(20))
    if (performance.now() > over) throw new Error(`not seen: ${what}`);
}

/** Burns one second of CPU when told, then tells what the kernel counted and stays. */
const BURN = `
process.on("message", () => {
  const from = process.cpuUsage();
  for (;;) { const u = process.cpuUsage(from); if (u.user + u.system >= 1e6) { process.send((u.user + u.system) / 1e4); break; } }
});
process.send("ready");
setInterval(() => {}, 1000);
`;

/** CPU time in ticks of 1/100 s that a row of samples adds up to. */
function ticksOf(samples: TaskUsage[]): number {
  let ticks = 0;
  for (const [i, sample] of samples.entries()) {
    if (i === 0) continue;
    ticks += (sample.ResourceUsage.CpuStats.Percent * Number(sample.Timestamp - samples[i - 1]!.Timestamp)) / 1e9;
  }
  return ticks;
}

async function burn(
  target: (pid: number) => Parameters<ReturnType<typeof createSampler>["source"]>[0],
): Promise<[sampled: number, truth: number]> {
  const child = start(process.execPath, ["-e", BURN]);
  await new Promise((resolve) => child.once("message", resolve));
  using sampler = createSampler();
  const samples: TaskUsage[] = [];
  const hook = new StatsHook<TaskUsage>({ interval: 200, update: (sample) => void samples.push(sample) });
  hook.poststart(sampler.source(target(child.pid!)));
  await until("a sample to count from", () => samples.length > 0);
  const truth = new Promise<number>((resolve) => child.once("message", (ticks) => resolve(ticks as number)));
  child.send("go");
  const told = await truth;
  // One may have been under way.
  const last = samples.length + 2;
  await until("a sample of all of it", () => samples.length >= last);
  await hook.shutdown();
  return [ticksOf(samples), told];
}

describe("against what the kernel counts", () => {
  it("a process that burns one second of CPU is seen to use 100 ± 3 ticks", async () => {
    const [sampled, truth] = await burn((pid) => ({ id: "burn", pid }));
    expect(truth).toBeGreaterThanOrEqual(100);
    expect(Math.abs(sampled - truth)).toBeLessThanOrEqual(3);
  });

  it("the time of children that start and end between samples is found", async () => {
    const loop = "i=0; while [ $i -lt 2000 ]; do /bin/true; i=$((i+1)); done";
    const child = start("sh", ["-c", `read -r go; ${loop}; exec sleep 60`]);
    using sampler = createSampler();
    const samples: TaskUsage[] = [];
    const hook = new StatsHook<TaskUsage>({ interval: 100, update: (sample) => void samples.push(sample) });
    hook.poststart(sampler.source({ id: "loop", pid: child.pid! }));
    await until("a sample to count from", () => samples.length > 0);
    child.stdin?.write("\n");
    await until("the end of the loop", () => readFileSync(`/proc/${child.pid}/comm`, "latin1").startsWith("sleep"));
    const last = samples.length + 2;
    await until("a sample of all of it", () => samples.length >= last);
    await hook.shutdown();
    const stat = readFileSync(`/proc/${child.pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const truth = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0);
    // What came before the first sample is the start of a shell.
    expect(truth).toBeGreaterThan(20);
    expect(ticksOf(samples)).toBeGreaterThan(truth * 0.8);
    expect(ticksOf(samples)).toBeLessThanOrEqual(truth + 3);
  });

  it("a stream ends by itself when its process ends, and nothing keeps the event loop busy", async () => {
    const child = start("sleep", ["0.3"]);
    using sampler = createSampler();
    const hook = new StatsHook<TaskUsage>({ interval: 100, update: () => undefined });
    hook.poststart(sampler.source({ id: "short", pid: child.pid! }));
    await until("its end", () => hook.counters.ends >= 1 && sampler.stats.tasks === 0);
    await hook.shutdown();
    expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout")).toEqual([]);
  });
});

describe("a real cgroup", () => {
  const layout = detectCgroups();
  const roots = Object.values(layout.roots) as string[];
  const writable =
    roots.length > 0 &&
    roots.every((root) => {
      try {
        accessSync(`${root}/cgroup.procs`, constants.W_OK);
        return true;
      } catch {
        return false;
      }
    });

  it.skipIf(!writable)(
    `${layout.mode}: CPU ± 3 ticks, memory, its processes, and an end when it is removed${writable ? "" : " (skipped: cgroups are not writable here)"}`,
    async () => {
      const dirs = cgroupDirs(layout, `/outrider-test-${process.pid}`);
      const all = Object.values(dirs) as string[];
      for (const dir of all) mkdirSync(dir, { recursive: true });
      try {
        const [sampled, truth] = await burn((pid) => {
          for (const dir of all) writeFileSync(`${dir}/cgroup.procs`, String(pid));
          return { id: "cg", cgroup: dirs };
        });
        expect(Math.abs(sampled - truth)).toBeLessThanOrEqual(3);

        using sampler = createSampler();
        const samples: TaskUsage[] = [];
        let ended = 0;
        const stop = await sampler
          .source({ id: "cg", cgroup: dirs })
          .subscribe({ next: (s) => void samples.push(s), end: () => void ended++ }, 100);
        await until("two samples", () => samples.length >= 2);
        const { MemoryStats } = samples.at(-1)!.ResourceUsage;
        expect(samples.flatMap((s) => s.ResourceUsage.CpuStats.Measured)).toContain("Percent");
        if (dirs.memory !== undefined || MemoryStats.Measured.length > 0) {
          expect(MemoryStats.RSS).toBeGreaterThan(1e6);
          expect(MemoryStats.Usage).toBeGreaterThan(MemoryStats.RSS / 2);
        }
        expect(Object.keys(samples[0]!.Pids)).toContain(String(children[0]!.pid));
        process.kill(-children[0]!.pid!, "SIGKILL");
        await until("empty cgroups", () => all.every((dir) => readFileSync(`${dir}/cgroup.procs`, "utf8") === ""));
        for (const dir of all) rmdirSync(dir);
        await until("its end", () => ended > 0);
        expect(ended).toBe(1);
        stop();
      } finally {
        // A cgroup can be removed only when nothing lives in it.
        const child = children[0];
        if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null)
          process.kill(-child.pid, "SIGKILL");
        await wait(300);
        for (const dir of all) {
          try {
            rmdirSync(dir);
          } catch {
            // Removed by the test.
          }
        }
      }
    },
  );
});
