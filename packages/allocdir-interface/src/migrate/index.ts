/** Disks of allocations on their way: archives written, fetched, unpacked. */
export { fetchArchive, FETCH_IDLE_MS, type FetchOptions } from "./fetch-archive.ts";
export { isMigrateToken, migrateToken } from "./migrate-token.ts";
export { stageArchive, type StagedDisk, type StageOptions } from "./staging.ts";
export { DEFAULT_MAX_ENTRIES, type UnpackReport, type UnpackRules } from "./unpack.ts";
