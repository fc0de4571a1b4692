export type { ApiContext } from "./api-context.ts";
export { FairTurns } from "./fair-turns.ts";
export { createHttpServer, HttpServer, type BindAddress, type HttpServerOptions } from "./http-server.ts";
export { allResources } from "./resources/index.ts";
export { DEFAULT_WAITING_LIMITS, WaitingQueries, type WaitingLimits } from "./waiting-queries.ts";
