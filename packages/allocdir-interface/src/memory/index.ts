export { createMemoryAllocDir, type MemoryAllocDir, type MemoryAllocDirOptions } from "./memory-alloc-dir.ts";
export type { MemoryFiles, MemoryLimits } from "./memory-files.ts";
