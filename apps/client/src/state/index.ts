export { lockDir } from "./dir-lock.ts";
export { openJournalStore } from "./journal-store.ts";
export { createMemoryStore } from "./memory-store.ts";
export type { StateBatch, StateStore } from "./state-store.ts";
