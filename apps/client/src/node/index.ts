export { DEFAULT_CLIENT_GC, type ClientGcLimits } from "./client-gc.ts";
export { fingerprintNode, NOMAD_VERSION } from "./fingerprint/fingerprint-node.ts";
export { createNodeClient, NodeClient, type NodeCounts } from "./node-client.ts";
export type { NodeHandlers, PauseState } from "./node-handlers.ts";
export { loadNodeIdentity } from "./node-identity.ts";
export type { BuildRunner, NodeClientOptions } from "./node-options.ts";
export type { AllocUpdate, ServerLink } from "./server-link.ts";
