export { newAllocDir } from "./new-alloc-dir.ts";
export { createAllocRunner } from "./create-alloc-runner.ts";
export type { ClientAllocRunnerConfig } from "../task/ports.ts";
