// 10,000 streams with a sample a second: hooks on one shared ticker against an async generator with timers/promises each. CPU of the whole process.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { createTicker, StatsHook } from "../src/index.ts";

const STREAMS = 10_000;
const INTERVAL_MS = 1000;
const SECONDS = 8;

interface Sample {
  cpu: number;
  rss: number;
  at: number;
}
let made = 0;
const sample = (i: number): Sample => ({ cpu: i % 100, rss: made++, at: performance.now() });

interface Outcome {
  cpuUs: number;
  samples: number;
  delayMs: number;
  rssMb: number;
}
async function measure(count: () => number): Promise<Outcome> {
  globalThis.gc?.();
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const from = count();
  const cpu = process.cpuUsage();
  await wait(SECONDS * 1000);
  const used = process.cpuUsage(cpu);
  const samples = count() - from;
  delay.disable();
  // The monitor counts its own resolution in.
  return {
    cpuUs: (used.user + used.system) / samples,
    samples,
    delayMs: delay.percentile(99) / 1e6 - 5,
    rssMb: process.memoryUsage().rss / 1e6,
  };
}

async function hooks(): Promise<Outcome & { exitMs: number }> {
  const ticker = createTicker();
  let updates = 0;
  const all = Array.from({ length: STREAMS }, (_, i) => {
    const hook = new StatsHook<Sample>({ interval: INTERVAL_MS, update: () => void updates++ });
    hook.poststart({
      subscribe: (sink, intervalMs) => ticker.every(intervalMs, `alloc-${i}/web`, () => sink.next(sample(i))),
    });
    return hook;
  });
  await wait(INTERVAL_MS);
  const outcome = await measure(() => updates);
  if (all[0]!.latest() === undefined) throw new Error("no sample was stored");
  const start = performance.now();
  await Promise.all(all.map((hook) => hook.exited()));
  return { ...outcome, exitMs: performance.now() - start };
}

async function generators(): Promise<Outcome> {
  let updates = 0;
  let running = true;
  const latest: Array<Sample | undefined> = [];
  async function* stream(i: number): AsyncGenerator<Sample> {
    while (running) {
      yield sample(i);
      await wait(INTERVAL_MS);
    }
  }
  const consume = async (i: number) => {
    for await (const one of stream(i)) {
      latest[i] = one;
      updates++;
    }
  };
  const all: Array<Promise<void>> = [];
  for (let i = 0; i < STREAMS; i++) {
    all.push(consume(i));
    // Started over one interval, so that they are as spread as ours.
    if (i % 100 === 99) await wait((INTERVAL_MS * 100) / STREAMS);
  }
  const outcome = await measure(() => updates);
  running = false;
  await Promise.all(all);
  return outcome;
}

const ours = await hooks();
const theirs = await generators();
const peer = `async generator + timers/promises (node ${process.versions.node})`;
const row = (name: string, mine: number, other: number | null, unit: string, goal: string) =>
  console.log(
    JSON.stringify({
      package: "stats-hook",
      case: name,
      ours: mine,
      peer: other === null ? null : peer,
      theirs: other,
      unit,
      ratio: other === null ? null : mine / other,
      goal,
    }),
  );
row("CPU per sample, 10,000 streams", ours.cpuUs, theirs.cpuUs, "µs", "≤ 0.5×");
row(
  "samples of those due",
  (ours.samples / (STREAMS * SECONDS)) * 100,
  (theirs.samples / (STREAMS * SECONDS)) * 100,
  "%",
  "≥ 99.5 %",
);
row("event-loop delay, 99th percentile", ours.delayMs, theirs.delayMs, "ms", "< 20 ms");
row("memory of the process", ours.rssMb, theirs.rssMb, "MB RSS", "≤ 110 MB");
row("10,000 exits at once", ours.exitMs, null, "ms", "< 200 ms");
