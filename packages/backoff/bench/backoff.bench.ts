import { gzipSync } from "node:zlib";
import { createRequire } from "node:module";
import { setMaxListeners } from "node:events";
import { ExponentialBackoff, noJitterGenerator } from "cockatiel";
import { backOff } from "exponential-backoff";
import pRetry from "p-retry";
import retryModule from "retry";
import { backoff, createBackoff, retry, sleep } from "@outrider/backoff";
import { contest, peer, report } from "./report.ts";

let sink = 0;

function pureStep(): void {
  const calls = 640_000;
  const options = { minTimeout: 1000, maxTimeout: 60_000, factor: 2, randomize: false, retries: 10 };
  const cockatiel = new ExponentialBackoff({ initialDelay: 1000, maxDelay: 60_000, generator: noJitterGenerator });
  const [ours, theirs, huge, stateful, peerStateful] = contest(
    [
      () => {
        for (let i = 0; i < calls; i++) sink += backoff(1000, 60_000, i & 63);
      },
      () => {
        for (let i = 0; i < calls; i++) sink += retryModule.createTimeout(i & 63, options);
      },
      () => {
        for (let i = 0; i < calls; i++) sink += backoff(1000, 60_000, 2 ** 31 + (i & 63) * 1e300);
      },
      () => {
        const waits = createBackoff({ base: 1000, limit: 60_000 });
        for (let i = 0; i < calls; i++) {
          if ((i & 63) === 0) waits.reset();
          sink += waits.next();
        }
      },
      () => {
        let waits = cockatiel.next();
        for (let i = 0; i < calls; i++) {
          waits = (i & 63) === 0 ? cockatiel.next() : waits.next(undefined as never);
          sink += waits.duration;
        }
      },
    ],
    calls,
  ) as [number, number, number, number, number];
  report({
    case: "B-G1 delay of attempts 0-63, mixed",
    ours,
    peer: `${peer("retry")} createTimeout`,
    theirs,
    unit: "ns/call",
    goal: "ratio <= 0.30",
  });
  report({
    case: "B-G2 delay of huge attempts",
    ours: huge,
    peer: "backoff() at attempts 0-63",
    theirs: ours,
    unit: "ns/call",
    goal: "ratio <= 1.3",
  });
  report({
    case: "stateful next(), no jitter",
    ours: stateful,
    peer: peer("cockatiel"),
    theirs: peerStateful,
    unit: "ns/call",
    goal: "ratio <= 1",
  });
}

/** Timers that fire at once, so that only the cost of an attempt is measured. */
async function withInstantTimers<T>(run: () => Promise<T>): Promise<T> {
  const { setTimeout: real, clearTimeout: realClear } = globalThis;
  globalThis.setTimeout = ((fn: () => void) => {
    queueMicrotask(fn);
    return { unref() {} };
  }) as never;
  globalThis.clearTimeout = (() => {}) as never;
  try {
    return await run();
  } finally {
    globalThis.setTimeout = real;
    globalThis.clearTimeout = realClear;
  }
}

async function failingAttempts(): Promise<void> {
  const error = new Error("down");
  const timed = async (
    attempts: number,
    run: (fn: () => Promise<void>) => Promise<unknown>,
  ): Promise<{ ns: number; rssMb: number }> => {
    let left = attempts;
    const fn = async (): Promise<void> => {
      if (left-- > 0) throw error;
    };
    globalThis.gc?.();
    const rss = process.memoryUsage.rss();
    // CPU time, since other processes of the machine must not count.
    const start = process.cpuUsage();
    await withInstantTimers(() => run(fn));
    const { user, system } = process.cpuUsage(start);
    return { ns: ((user + system) * 1000) / attempts, rssMb: (process.memoryUsage.rss() - rss) / 2 ** 20 };
  };
  const ours = (n: number) => timed(n, (fn) => retry(fn, { base: 1000, limit: 60_000 }));
  const theirs = (n: number) =>
    timed(n, (fn) => pRetry(fn, { retries: Infinity, minTimeout: 1000, maxTimeout: 60_000 }));
  const others = (n: number) =>
    timed(n, (fn) => backOff(fn, { numOfAttempts: Infinity, startingDelay: 1000, maxDelay: 60_000 }));
  // In turns, so that all see the same machine; the first round warms up.
  const best = [Infinity, Infinity, Infinity];
  for (let round = 0; round < 6; round++) {
    for (const [i, run] of [ours, theirs, others].entries()) {
      const { ns } = await run(round === 0 ? 20_000 : 100_000);
      if (round > 0) best[i] = Math.min(best[i] as number, ns);
    }
  }
  const [a, b, c] = best as [number, number, number];
  const million = await ours(1_000_000);
  report({
    case: "B-G3 retry(), failing attempt",
    ours: a,
    peer: peer("p-retry"),
    theirs: b,
    unit: "ns CPU/attempt",
    goal: "ratio <= 1.2",
  });
  report({
    case: "retry(), failing attempt",
    ours: a,
    peer: peer("exponential-backoff"),
    theirs: c,
    unit: "ns CPU/attempt",
    goal: "ratio <= 1.2",
  });
  report({
    case: "B-G3 memory after 10^6 failed attempts",
    ours: Math.max(million.rssMb, 0.01),
    peer: "bound",
    theirs: 32,
    unit: "MB RSS",
    goal: "ours < 32",
  });
}

/** What most libraries do: one listener for each wait. */
function naiveSleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

async function sharedSignal(): Promise<void> {
  const sleeps = 20_000;
  const cpu = async (nap: (ms: number, signal: AbortSignal) => Promise<void>): Promise<number> => {
    const { signal } = new AbortController();
    setMaxListeners(0, signal);
    const start = process.cpuUsage();
    await Promise.all(Array.from({ length: sleeps }, (_, i) => nap(1 + (i % 50), signal)));
    const { user, system } = process.cpuUsage(start);
    return (user + system) / sleeps;
  };
  const ours = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, { signal });
  await cpu(ours);
  const a = Math.min(await cpu(ours), await cpu(ours));
  const b = Math.min(await cpu(naiveSleep), await cpu(naiveSleep));
  report({
    case: "B-G4 20,000 sleeps on one signal",
    ours: a,
    peer: "one listener a sleep",
    theirs: b,
    unit: "us CPU/sleep",
    goal: "ratio <= 0.15",
  });
}

async function size(): Promise<void> {
  const require = createRequire(createRequire(import.meta.url).resolve("tsup"));
  // The one that tsup brings; no dependency of this package.
  const bundler = "esbuild";
  const { build } = require(bundler) as {
    build: (o: object) => Promise<{ outputFiles: { contents: Uint8Array }[] }>;
  };
  const measure = async (contents: string): Promise<number> => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: new URL(".", import.meta.url).pathname },
      bundle: true,
      minify: true,
      write: false,
      format: "esm",
      target: "node20",
      conditions: ["@outrider/source"],
      external: ["node:*"],
    });
    return gzipSync((outputFiles[0] as { contents: Uint8Array }).contents, { level: 9 }).length / 1000;
  };
  const theirs = await measure('export { default } from "p-retry"');
  report({
    case: "B-G5 size of { backoff }",
    ours: await measure('export { backoff } from "@outrider/backoff"'),
    peer: "bound",
    theirs: 0.5,
    unit: "kB gzip",
    goal: "ratio <= 1",
  });
  report({
    case: "B-G5 size of everything",
    ours: await measure('export * from "@outrider/backoff"'),
    peer: "bound",
    theirs: 2.5,
    unit: "kB gzip",
    goal: "ratio <= 1",
  });
  report({
    case: "size of { retry }",
    ours: await measure('export { retry } from "@outrider/backoff"'),
    peer: peer("p-retry"),
    theirs,
    unit: "kB gzip",
    goal: "-",
  });
}

async function abortLatency(): Promise<void> {
  const latency = async (wait: (signal: AbortSignal) => Promise<unknown>): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < 21; i++) {
      const stop = new AbortController();
      const done = wait(stop.signal).catch(() => performance.now());
      await new Promise((resolve) => setTimeout(resolve, 5));
      const start = performance.now();
      stop.abort();
      times.push(((await done) as number) - start);
    }
    return times.sort((x, y) => x - y)[10] as number;
  };
  const fail = (): never => {
    throw new Error("down");
  };
  const ours = await latency((signal) => retry(fail, { base: 60_000, limit: 60_000, signal }));
  const theirs = await latency((signal) => pRetry(fail, { minTimeout: 60_000, signal }));
  report({ case: "B-G6 from abort to rejection", ours, peer: peer("p-retry"), theirs, unit: "ms", goal: "ours <= 5" });
}

pureStep();
await failingAttempts();
await sharedSignal();
await size();
await abortLatency();
if (!Number.isFinite(sink)) throw new Error("a delay was not finite");
