import { ManualClock } from "@outrider/backoff/testing";
import { afterEach } from "vitest";
import { createSampler, type SampleTarget, type SamplerOptions, type TaskUsage } from "../../src/sampler/index.ts";
import { logger } from "../harness.ts";
import { FakeProc } from "./fake-proc.ts";

const made: Disposable[] = [];
afterEach(() => {
  for (const one of made.splice(0)) one[Symbol.dispose]();
});

/** A sampler over a made-up procfs and a clock that stands still. */
export function samplerHarness(more: SamplerOptions = {}) {
  const proc = new FakeProc();
  const clock = new ManualClock();
  const log = logger();
  const sampler = createSampler({
    clock,
    procDir: proc.dir,
    sysDir: proc.dir,
    cores: 4,
    totalMHz: 8000,
    logger: log,
    pidInterval: Infinity,
    ...more,
  });
  made.push(sampler, proc);
  const watch = (target: Omit<SampleTarget, "id"> & { id?: string }, intervalMs = 1000) => {
    const samples: TaskUsage[] = [];
    const ends: unknown[] = [];
    const stop = sampler
      .source({ id: "t", ...target })
      .subscribe({ next: (s) => void samples.push(s), end: (r) => void ends.push(r) }, intervalMs) as () => void;
    return {
      samples,
      ends,
      stop,
      cpu: (i: number) => samples.at(i)!.ResourceUsage.CpuStats,
      memory: (i: number) => samples.at(i)!.ResourceUsage.MemoryStats,
    };
  };
  return { proc, clock, log, sampler, watch };
}
