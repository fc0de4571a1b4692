import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Harness, startHarness, type TestTask, until } from "./harness.ts";

let h: Harness;
beforeAll(async () => {
  h = await startHarness({ logLevel: "info" });
});
afterAll(() => h.close());

/** Proportional memory of a process in MB. */
const pss = (pid: number): number =>
  Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) / 1024;
const descriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
/** CPU time of a process itself, ms. */
const cpu = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

function shims(): number[] {
  const specs = join(h.dataDir, "driver", "specs");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(specs);
      } catch {
        return false;
      }
    });
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

describe("many tasks", () => {
  it("200 run at once and end again without a leak of processes, descriptors or memory", async () => {
    const driver = await h.driver();
    const pid = h.driverPid();
    const idle = { pss: pss(pid), fds: descriptors(pid) };
    const tasks: TestTask[] = await Promise.all(Array.from({ length: 200 }, () => h.prepare("/bin/sleep", ["1000"])));
    const measured: object[] = [];
    for (let round = 0; round < 2; round++) {
      const configs = tasks.map(({ config }) => ({
        ...config,
        id: `${config.allocId}/t/${round.toString().padStart(8, "0")}`,
      }));
      const times: number[] = [];
      const spent = cpu(pid);
      const began = performance.now();
      await Promise.all(
        configs.map(async (config) => {
          await driver.startTask(config);
          times.push(performance.now() - began);
        }),
      );
      times.sort((a, b) => a - b);
      const running = shims();
      expect(running).toHaveLength(200);
      const each = running.reduce((sum, shim) => sum + pss(shim), 0) / running.length;
      measured.push({
        p50: Math.round(times[100] ?? 0),
        p99: Math.round(times[197] ?? 0),
        cpuPerStart: (cpu(pid) - spent) / 200,
        shimPss: rounded(each),
        driverPss: rounded(pss(pid)),
        fds: descriptors(pid),
      });
      // the shim, and what the driver itself grew by
      expect(each + Math.max(0, pss(pid) - idle.pss) / 200).toBeLessThan(0.3);
      expect((cpu(pid) - spent) / 200).toBeLessThan(15);
      await Promise.all(
        configs.map(async ({ id }) => {
          await driver.stopTask(id, 10_000, "");
          expect(await driver.waitTask(id)).toMatchObject({ exitCode: 130, signal: 2 });
          await driver.destroyTask(id, false);
        }),
      );
      await until("shims gone", () => shims().length === 0);
    }
    await Promise.all(tasks.map(({ config }) => h.drivers.logCollector.stop(`${config.allocId}/t`)));
    await until("descriptors closed", () => descriptors(pid) <= idle.fds + 2);
    console.log(JSON.stringify({ idle, measured, after: { pss: rounded(pss(pid)), fds: descriptors(pid) } }));
    expect(pss(pid)).toBeLessThan(idle.pss + 40);
    for (const folder of ["slots", "tasks", "specs", "logs"])
      expect(readdirSync(join(h.dataDir, "driver", folder))).toEqual([]);
  });

  it("300 short lives leave nothing behind", async () => {
    const driver = await h.driver();
    const pid = h.driverPid();
    const { config } = await h.prepare("/bin/true", [], { stdoutPath: "/dev/null", stderrPath: "/dev/null" });
    const before = { fds: descriptors(pid), cpu: cpu(pid), pss: pss(pid) };
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < 300) {
        const n = next++;
        const id = `${config.allocId}-${n}/t/00000000`;
        await driver.startTask({ ...config, id });
        expect((await driver.waitTask(id)).exitCode).toBe(0);
        await driver.destroyTask(id, false);
      }
    };
    const began = performance.now();
    await Promise.all(Array.from({ length: 50 }, worker));
    console.log(
      JSON.stringify({
        lives: 300,
        ms: Math.round(performance.now() - began),
        driverCpuPerLife: (cpu(pid) - before.cpu) / 300,
        pssBefore: rounded(before.pss),
        pss: rounded(pss(pid)),
      }),
    );
    expect((cpu(pid) - before.cpu) / 300).toBeLessThan(15);
    await until("descriptors closed", () => descriptors(pid) <= before.fds + 2);
    await until("shims gone", () => shims().length === 0);
  });
});
