export { createAllocRunner } from "./create-alloc-runner.ts";
export { allocKeys } from "./state-keys.ts";
export type {
  ClientAllocRunnerConfig,
  DriverConfigEncoder,
  LogCollection,
  LogCollectorPort,
  TaskCounters,
} from "../task/ports.ts";
