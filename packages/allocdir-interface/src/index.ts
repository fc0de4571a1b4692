export { AllocDirError, type AllocDirReason } from "./alloc-dir-error.ts";
export type { AllocDirFS, AllocFileInfo, FileChange, FileReader, SkipReason, SnapshotReport } from "./alloc-dir-fs.ts";
export type { MountEntry, Mounter } from "./mounter.ts";
export { checkAllocId, checkTaskName, MAX_TASK_NAME_BYTES } from "./names.ts";
export { streamFile, type StreamRequest, type StreamSource } from "./stream-file.ts";
export { FRAME_BYTES, type StreamFrame } from "./stream-frame.ts";
export { taskLogs, type LogSource, type TaskLogRequest } from "./task-logs.ts";
export type {
  AllocDir,
  AllocDirState,
  Isolation,
  MoveOptions,
  MoveReport,
  MoveSource,
  TaskDir,
  TaskDirOptions,
  UserRef,
} from "./types.ts";
