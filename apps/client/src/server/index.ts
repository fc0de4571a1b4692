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
export { jobKey, versionKey, type TableName, type Tables } from "./tables.ts";
