// A plugin whose tasks exist in name only; each stream of statistics gets a synthetic sample per interval.
import { defineDriver, type RunningTask, schema, type TaskResourceUsage } from "@outrider/plugin-driver";
import { serve } from "@outrider/plugin-driver/serve";

const sample = (n: number): TaskResourceUsage => ({
  ResourceUsage: {
    MemoryStats: {
      RSS: 10_000_000 + n,
      Cache: 0,
      Swap: 0,
      MappedFile: 0,
      Usage: 12_000_000,
      MaxUsage: 13_000_000,
      KernelUsage: 0,
      KernelMaxUsage: 0,
      Measured: ["RSS", "Usage", "Max Usage"],
    },
    CpuStats: {
      SystemMode: 1,
      UserMode: 2,
      TotalTicks: 30.5 + (n % 10),
      ThrottledPeriods: 0,
      ThrottledTime: 0,
      Percent: 1.25,
      Measured: ["System Mode", "User Mode", "Percent"],
    },
    DeviceStats: [],
  },
  Timestamp: Date.now() * 1e6,
  Pids: {},
});

/** One timer an interval for all streams: what is measured is the way from a sample to the host. */
const readers = new Set<() => void>();
let ticking: NodeJS.Timeout | undefined;
let made = 0;

/** As many as are due: a late timer loses none. */
async function* samples(intervalMs: number, signal: AbortSignal): AsyncGenerator<TaskResourceUsage> {
  ticking ??= setInterval(() => {
    for (const wake of readers) wake();
  }, intervalMs);
  let resolve: () => void = () => undefined;
  const wake = (): void => resolve();
  readers.add(wake);
  signal.addEventListener("abort", wake, { once: true });
  const from = performance.now();
  let given = 0;
  try {
    while (!signal.aborted) {
      if (given * intervalMs < performance.now() - from) {
        given++;
        yield sample(made++);
      } else await new Promise<void>((settle) => (resolve = settle));
    }
  } finally {
    readers.delete(wake);
  }
}

function task(): RunningTask<object> {
  const end = new AbortController();
  return {
    state: {},
    wait: () =>
      new Promise((resolve) => {
        const ended = (): void => resolve({ exitCode: 0, signal: 0, oomKilled: false });
        end.signal.addEventListener("abort", ended, { once: true });
      }),
    stop: async () => end.abort(),
    stats: samples,
  };
}

const driver = defineDriver({
  name: "synthetic",
  version: "0.1.0",
  taskConfig: schema.object({}),
  start: async () => task(),
  recover: async () => task(),
});

void serve(driver);
