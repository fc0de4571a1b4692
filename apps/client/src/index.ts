export {
  type Agent,
  type AgentConfig,
  type AgentDeps,
  type AgentSettings,
  buildAgent,
  resolveAgentConfig,
} from "./agent/index.ts";
