import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jobOf, LONG, Rig, shTask, until } from "./harness.ts";
import { cgroupsOf, descriptorsOf, mountsBelow, processesBelow } from "./processes.ts";
import { join } from "node:path";

const JOBS = 200;
/** A first wave to fill caches and buffers, and more to show what every job leaves behind. */
const WAVES = LONG ? [JOBS, JOBS, JOBS, JOBS] : [JOBS / 2];

let rig: Rig;
beforeEach(async () => {
  rig = new Rig("many", { heapProbe: true });
  await rig.start();
});
afterEach(() => rig.close());

/** Submits jobs all at once, waits for all tasks, stops all at once and waits until they are gone and forgotten. */
async function wave(count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, i) => `small-${i}`);
  await Promise.all(ids.map((id) => rig.submit(jobOf(id, [shTask("t", "echo up; exec sleep 86400")]))));
  await until(
    `${count} running jobs`,
    async () => {
      const allocs = await rig.call<any[]>("GET", "/v1/allocations");
      return allocs.filter((alloc) => alloc.ClientStatus === "running").length === count;
    },
    60_000,
  );
  // A task runs when its shell does; what it becomes comes right after.
  const sleepers = (): number => processesBelow(rig.data).filter((p) => p.command === "sleep 86400").length;
  await until("all of their processes", () => sleepers() >= count);
  expect(sleepers()).toBe(count);
  await Promise.all(ids.map((id) => rig.call("DELETE", `/v1/job/${id}?purge=true`)));
  await until(
    "the end of all tasks",
    async () =>
      processesBelow(rig.data).length === 2 &&
      (await rig.call<any[]>("GET", "/v1/allocations")).every((alloc) => alloc.ClientStatus === "complete"),
    60_000,
  );
  await rig.call("PUT", "/v1/system/gc");
  await until("an empty server", async () => (await rig.call<any[]>("GET", "/v1/allocations")).length === 0);
}

interface Held {
  readonly agent: Map<string, number>;
  readonly driver: Map<string, number>;
}
const held = (): Held => ({ agent: descriptorsOf(rig.agentPid), driver: descriptorsOf(rig.driverPid) });
const sum = (counts: Map<string, number>): number => [...counts.values()].reduce((a, b) => a + b, 0);

describe("many small jobs", () => {
  it(
    `run ${JOBS} at once and stop again without a leak of processes, descriptors, mounts, cgroups or memory`,
    async () => {
      await wave(20);
      const first = held();
      await wave(JOBS);
      const heap = await rig.heap();
      for (const count of WAVES) await wave(count);
      await until(
        "as many descriptors as before",
        () => sum(held().agent) <= sum(first.agent) + 2 && sum(held().driver) <= sum(first.driver) + 2,
        10_000,
      ).catch((reason: unknown) => {
        expect({ agent: [...held().agent], driver: [...held().driver] }).toEqual({
          agent: [...first.agent],
          driver: [...first.driver],
        });
        throw reason;
      });
      expect(mountsBelow(rig.dir)).toEqual([]);
      expect(cgroupsOf(join(rig.data, "driver"))).toEqual([]);
      expect(((await rig.heap()) - heap) / 2 ** 20).toBeLessThan(15);
      expect((await rig.call<any[]>("GET", "/v1/jobs")).length).toBe(0);
    },
    LONG ? 600_000 : 180_000,
  );
});
