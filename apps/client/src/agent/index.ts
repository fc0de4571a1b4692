export type { Agent } from "./agent.ts";
export { isLoopback, resolveAgentConfig, type AgentConfig, type AgentSettings } from "./agent-config.ts";
export { buildAgent, type AgentDeps } from "./build-agent.ts";
