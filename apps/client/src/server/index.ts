export {
  createEmbeddedServer,
  EmbeddedServer,
  listErrors,
  type EmbeddedServerOptions,
  type SubmitReply,
} from "./embedded-server.ts";
export type { JobRules, JobVerdict } from "./job-rules.ts";
export type { EventBatch } from "./change-feed.ts";
export type { StateKeeper } from "./state-keeper.ts";
export { MAX_VARIABLE_BYTES, type VariableChange, type VariableWrite } from "./variables.ts";
export { jobKey, serviceKey, variableKey, versionKey, type TableName, type Tables, type Variable } from "./tables.ts";
