// 10,000 streams with a sample a second: hooks on one shared ticker against an async generator with timers/promises each. CPU of the whole process.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createTicker, StatsHook } from "../src/index.ts";

const STREAMS = 10_000;
const INTERVAL_MS = 1000;
/** Ours and theirs take turns, so that the noise of the machine meets both. */
const ROUNDS = 3;
const SECONDS = 4;

interface Sample {
  cpu: number;
  rss: number;
  at: number;
}
let made = 0;
const sample = (i: number): Sample => ({ cpu: i % 100, rss: made++, at: performance.now() });

function heap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1e6;
}

interface Outcome {
  [figure: string]: number;
  cpuUs: number;
  served: number;
  delayMs: number;
  heapMb: number;
}
async function measure(count: () => number, beforeMb: number): Promise<Outcome> {
  globalThis.gc?.();
  const from = count();
  const cpu = process.cpuUsage();
  const start = performance.now();
  await wait(SECONDS * 1000);
  const used = process.cpuUsage(cpu);
  const samples = count() - from;
  const due = (STREAMS * (performance.now() - start)) / INTERVAL_MS;
  const heapMb = heap() - beforeMb;
  // On its own: the monitor wakes the process two hundred times a second.
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await wait(2000);
  delay.disable();
  const delayMs = delay.percentile(99) / 1e6 - 5;
  return { cpuUs: (used.user + used.system) / samples, served: (samples / due) * 100, delayMs, heapMb };
}

async function hooks(): Promise<Outcome & { exitMs: number }> {
  const before = heap();
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
  const outcome = await measure(() => updates, before);
  if (all[0]!.latest() === undefined) throw new Error("no sample was stored");
  const start = performance.now();
  await Promise.all(all.map((hook) => hook.exited()));
  return { ...outcome, exitMs: performance.now() - start };
}

async function generators(): Promise<Outcome> {
  const before = heap();
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
  const outcome = await measure(() => updates, before);
  running = false;
  await Promise.all(all);
  return outcome;
}

const median = (all: number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;
const medians = <K extends string>(all: Array<Record<K, number>>): Record<K, number> =>
  Object.fromEntries((Object.keys(all[0]!) as K[]).map((key) => [key, median(all.map((one) => one[key]))])) as Record<
    K,
    number
  >;
const mine: Array<Awaited<ReturnType<typeof hooks>>> = [];
const others: Outcome[] = [];
for (let round = 0; round < ROUNDS; round++) {
  mine.push(await hooks());
  others.push(await generators());
}
const ours = medians(mine);
const theirs = medians(others);
const peer = `async generator + timers/promises (node ${process.versions.node})`;
const row = (name: string, value: number, other: number | null, unit: string, goal: string) =>
  console.log(
    JSON.stringify({
      package: "stats-hook",
      case: name,
      ours: value,
      peer: other === null ? null : peer,
      theirs: other,
      unit,
      ratio: other === null ? null : value / other,
      goal,
    }),
  );
row("CPU per sample, 10,000 streams", ours.cpuUs as number, theirs.cpuUs as number, "µs", "≤ 0.5×");
row("samples of those due", ours.served as number, theirs.served as number, "%", "≥ 99.5 %");
row("event-loop delay, 99th percentile", ours.delayMs as number, theirs.delayMs as number, "ms", "< 20 ms");
row("heap of 10,000 streams", ours.heapMb as number, theirs.heapMb as number, "MB", "≤ 65 MB");
row("10,000 exits at once", ours.exitMs as number, null, "ms", "< 200 ms");

// As a user has it: the built package in a process of its own.
const built = new URL("../dist/index.js", import.meta.url);
if (existsSync(built)) {
  const done = spawnSync(process.execPath, [fileURLToPath(new URL("fresh.mjs", import.meta.url)), built.href], {
    encoding: "utf8",
  });
  if (done.status !== 0) throw new Error(done.stderr);
  const fresh = JSON.parse(done.stdout) as Record<"rssMb" | "fullest" | "left", number>;
  row("memory of a process with 10,000 streams (RSS)", fresh.rssMb, null, "MB", "≤ 110 MB");
  row("samples in the fullest 100 ms", fresh.fullest, null, "× the mean", "≤ 3×");
  row("timers and listener warnings after the shutdown", fresh.left, null, "", "0");
} else console.error("packages/stats-hook/dist is missing: build first to measure memory");
