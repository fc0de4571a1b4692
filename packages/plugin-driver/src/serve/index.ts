export { createDriverServer, type DriverServer, type DriverServerOptions } from "./create-driver-server.ts";
export { createDriverHandlers, type DriverHandlersOptions } from "./create-driver-handlers.ts";
export { MAX_SOCKET_PATH_BYTES } from "../wire/socket-path.ts";
export { createPluginLogger, type LogLevel, type PluginLoggerOptions } from "./hclog.ts";
export { serve, type ServeOptions } from "./serve.ts";
export { isAlive, processIdentity, signalProcess, type ProcessIdentity } from "../process/process-identity.ts";
export { closeInheritedDescriptors, type DescriptorCalls } from "../process/close-inherited.ts";
export { recoverProcess, spawnProcess, type ProcessState, type SpawnProcessOptions } from "./spawn-process.ts";
export type { MessageHandlers } from "../wire/carrier.ts";
