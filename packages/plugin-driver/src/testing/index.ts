export { createBench, type Bench, type BenchOptions, type BenchTask } from "./bench.ts";
export { CONFORMANCE_CASES, driverConformance } from "./conformance.ts";
export type { ConformanceOptions, ConformanceTasks, Runner } from "./conformance-case.ts";
