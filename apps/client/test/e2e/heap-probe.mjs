// Loaded into an agent that a test looks at: on SIGUSR2 it collects garbage and writes down what is left.
import { renameSync, writeFileSync } from "node:fs";

const file = process.env.HEAP_PROBE_FILE;
process.on("SIGUSR2", () => {
  globalThis.gc();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  writeFileSync(`${file}.new`, JSON.stringify({ heapUsed, external, arrayBuffers }));
  renameSync(`${file}.new`, file);
});
