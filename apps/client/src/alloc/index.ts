export { createAllocRunner } from "./create-alloc-runner.ts";
export type { ClientAllocRunnerConfig } from "../task/ports.ts";
