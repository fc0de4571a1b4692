// node fresh.mjs <module>: 10,000 streams of a sample a second in a process that holds nothing else; prints its memory, the
// fullest 100 ms, and what is left after the shutdown.
const STREAMS = 10_000;
const INTERVAL_MS = 1000;
const WINDOW_MS = 100;

const { createTicker, StatsHook } = await import(process.argv[2]);
let warnings = 0;
process.on("warning", () => warnings++);
const ticker = createTicker();
const perWindow = new Map();
let start = Infinity;
let made = 0;
const hooks = Array.from({ length: STREAMS }, (_, i) => {
  const hook = new StatsHook({ interval: INTERVAL_MS, update: () => undefined });
  hook.poststart({
    subscribe: (sink, intervalMs) =>
      ticker.every(intervalMs, `alloc-${i}/web`, () => {
        const at = performance.now();
        if (at >= start) {
          const window = Math.floor((at - start) / WINDOW_MS);
          perWindow.set(window, (perWindow.get(window) ?? 0) + 1);
        }
        sink.next({ cpu: i % 100, rss: made++, at });
      }),
  });
  return hook;
});
await new Promise((resolve) => setTimeout(resolve, 1500));
start = performance.now();
await new Promise((resolve) => setTimeout(resolve, 5000));
const rssMb = process.memoryUsage.rss() / 1e6;
const elapsed = performance.now() - start;
const counts = [...perWindow.values()];
const mean = counts.reduce((a, b) => a + b, 0) / (elapsed / WINDOW_MS);
await Promise.all(hooks.map((hook) => hook.shutdown()));
ticker[Symbol.dispose]();
const left = process.getActiveResourcesInfo().filter((name) => name === "Timeout" || name === "Immediate").length;
console.log(JSON.stringify({ rssMb, fullest: Math.max(...counts) / mean, left: left + warnings }));
