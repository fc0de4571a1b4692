export type { PluginAddress } from "./channel.ts";
export type { ExpectedPlugin, VerifyPlugin } from "./attach.ts";
export { connectPlugin, type ConnectPluginOptions } from "./connect-plugin.ts";
export { HostedDriver, type PluginExit, type ReattachRecord } from "./hosted-driver.ts";
export { DEFAULT_CALL_TIMEOUTS, type CallTimeouts } from "./timeouts.ts";
export { isAlive, processIdentity, signalProcess, type ProcessIdentity } from "../process/process-identity.ts";
export { ConfigError, type ConfigIssue } from "../config/config-error.ts";
export { decodeConfig, type DecodeConfigOptions } from "../config/decode-config.ts";
export { encodeConfig } from "../config/encode-config.ts";
