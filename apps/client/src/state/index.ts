export { lockDir } from "./dir-lock.ts";
export { openJournalStore, type JournalStoreOptions } from "./journal-store.ts";
export { createMemoryStore } from "./memory-store.ts";
export type { StateBatch, StateStore } from "./state-store.ts";
export { isAlive, readBootId, readStartTime, selfIdentity, type ProcessIdentity } from "./process-identity.ts";
