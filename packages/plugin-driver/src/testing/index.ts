export { createBench, type Bench, type BenchOptions, type BenchTask } from "./bench.ts";
export {
  CONFORMANCE_CASES,
  driverConformance,
  type ConformanceOptions,
  type ConformanceTasks,
  type Runner,
} from "./conformance.ts";
