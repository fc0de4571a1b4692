export { createMemoryAllocDir, type MemoryAllocDir, type MemoryAllocDirOptions } from "./memory-alloc-dir.ts";
export { MemoryFiles, type MemoryLimits } from "./memory-files.ts";
