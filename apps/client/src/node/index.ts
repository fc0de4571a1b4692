export { DEFAULT_CLIENT_GC, type ClientGcLimits } from "./client-gc.ts";
export { fingerprintNode, NOMAD_VERSION, type NodeSettings } from "./fingerprint/fingerprint-node.ts";
export { createNodeClient, NodeClient, type NodeCounts } from "./node-client.ts";
export type { LogFrame, LogRequest, NodeHandlers, PauseState } from "./node-handlers.ts";
export { loadNodeIdentity, type NodeIdentity } from "./node-identity.ts";
export type { BuildRunner, NodeClientOptions } from "./node-options.ts";
export type { AllocUpdate, DesiredAllocs, HeartbeatReply, ServerLink } from "./server-link.ts";
