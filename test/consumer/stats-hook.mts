import { classifyFailure, createTicker, StatsHook, type StatsSource } from "@outrider/stats-hook";
import { createSampler, detectCgroups, type TaskUsage } from "@outrider/stats-hook/sampler";
import { codeOf, equal, exact } from "./assert.mjs";

export async function statsHookUser(): Promise<void> {
  using sampler = createSampler({ pidInterval: 1000 });
  let heard: (usage: TaskUsage) => void = () => undefined;
  const first = new Promise<TaskUsage>((resolve) => (heard = resolve));
  await using hook = new StatsHook<TaskUsage>({ interval: 50, update: heard });
  hook.poststart(sampler.source({ id: "self", pid: process.pid }));
  const { ResourceUsage } = await first;
  equal(ResourceUsage.MemoryStats.RSS > 0, true);
  await hook.exited();
  equal(hook.latest()?.running, false);
  equal(["v1", "v2", "hybrid", "none"].includes(detectCgroups().mode), true);
  const source: StatsSource<number> = {
    async *stats(signal, intervalMs) {
      if (!signal.aborted) yield intervalMs;
    },
  };
  let told: (n: number) => void = () => undefined;
  const seen = new Promise<number>((resolve) => (told = resolve));
  const numbers = new StatsHook<number>({ interval: 60_000, update: told });
  numbers.poststart(source);
  exact<number>()(await seen);
  await numbers.shutdown();
  equal(classifyFailure(new Error("plugin is shut down")), "plugin-shutdown");
  createTicker().every(1000, "job", () => undefined)();
  // @ts-expect-error an interval is a number of milliseconds
  const code = codeOf(() => new StatsHook({ interval: "1s", update: () => undefined }));
  equal(code, "ERR_OUTRIDER_STATS_OPTION");
}
