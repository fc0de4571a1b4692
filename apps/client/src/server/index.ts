export { createEmbeddedServer, EmbeddedServer, listErrors } from "./embedded-server.ts";
export type { JobRules } from "./job-rules.ts";
export type { EventBatch } from "./change-feed.ts";
export { MAX_VARIABLE_BYTES, type VariableChange } from "./variables.ts";
export { jobKey, serviceKey, variableKey, versionKey, type TableName, type Variable } from "./tables.ts";
