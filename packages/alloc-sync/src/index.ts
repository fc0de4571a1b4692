export { createAllocSync } from "./create-alloc-sync.ts";
export {
  DEFAULT_FLUSH_DEADLINE_MS,
  DEFAULT_RETRY_DELAY_MS,
  DEFAULT_TICK_MS,
  DEFAULT_TYPICAL_EVERY,
  type AllocSync,
  type AllocSyncOptions,
  type AllocSyncStats,
  type FlushOptions,
  type Priority,
  type SendContext,
} from "./options.ts";
