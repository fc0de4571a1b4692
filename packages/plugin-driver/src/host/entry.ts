/** The two ways to a plugin. What speaks gRPC is loaded by the first call: 13 MB that a program without such plugins does not spend. */
import type { ConnectPluginOptions } from "./connect-plugin.ts";
import type { HostedDriver } from "./hosted-driver.ts";
import type { LaunchPluginOptions } from "./launch-plugin.ts";

/**
 * Starts a plugin, waits for its handshake, connects and asks who it is. Neither `setConfig` nor `init` is called. A start that
 * fails leaves no process behind.
 * @throws {@link PluginStartError}, whose `kind` says what went wrong
 * @public
 */
export async function launchPlugin(o: LaunchPluginOptions): Promise<HostedDriver> {
  return (await import("./launch-plugin.ts")).launchPlugin(o);
}

/**
 * Connects once to a running driver and asks who it is; no process is ever signalled, since a saved pid may be another's. `init` is
 * called by this function, `setConfig` is not.
 * @throws {@link PluginStartError} of kind `connect`, `identity`, `api-version`, `certificate` or `socket-path`
 * @public
 */
export async function connectPlugin(o: ConnectPluginOptions): Promise<HostedDriver> {
  return (await import("./connect-plugin.ts")).connectPlugin(o);
}
