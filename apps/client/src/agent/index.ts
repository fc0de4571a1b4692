export type { Agent, StopOptions } from "./agent.ts";
export {
  DEFAULT_HTTP_HOST,
  DEFAULT_HTTP_PORT,
  isLoopback,
  resolveAgentConfig,
  SETTING_NAMES,
  type AgentConfig,
  type AgentSettings,
  type ClientOptions,
} from "./agent-config.ts";
export { buildAgent, type AgentDeps } from "./build-agent.ts";
export { DATA_DIR_FORMAT, openDataDir, type DataDir } from "./data-dir.ts";
