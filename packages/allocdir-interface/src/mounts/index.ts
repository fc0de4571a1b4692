export { createMountsAllocDir, type MountsAllocDirOptions } from "./mounts-alloc-dir.ts";
