export { createFileBelow, type NewFile } from "./create-file.ts";
export type { DirAccess } from "./dir-access.ts";
export { sweepDestroyed } from "./doomed-tree.ts";
export { createLocalAllocDir, type LocalAllocDirOptions } from "./local-alloc-dir.ts";
export { parseMountinfo } from "./mountinfo.ts";
export { readFileBelow } from "./read-file.ts";
export { createSystemMounter } from "./system-mounter.ts";
