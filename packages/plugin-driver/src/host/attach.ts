/** From an address to a driver: connect, ask who it is, initialise. Shared by launching and reattaching. */
import type { ChannelCredentials } from "@grpc/grpc-js";
import type { Clock } from "@outrider/backoff";
import { isOutriderError, type Logger } from "@outrider/foundation";
import type { PluginInfo } from "../contract/driver.ts";
import { PluginStartError } from "../contract/errors.ts";
import { GRPCStdio } from "../gen/go_plugin_pb.js";
import { API_VERSIONS, commonApiVersion } from "./api-version.ts";
import { type PluginAddress, PluginChannel } from "./channel.ts";
import type { CallTimeouts } from "./timeouts.ts";

/** Connects and keeps one silent stream open, as go-plugin hosts do; its end also tells that the plugin is gone. */
export async function openChannel(
  address: PluginAddress,
  o: {
    readonly clock: Clock;
    readonly timeouts: CallTimeouts;
    readonly credentials?: ChannelCredentials;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<PluginChannel> {
  const channel = new PluginChannel(address, o);
  try {
    await channel.ready(o.timeouts.connectMs, o.signal);
  } catch (reason) {
    channel.close();
    if (isOutriderError(reason, "ERR_OUTRIDER_PLUGIN_TIMEOUT")) {
      throw new PluginStartError("connect", `plugin at ${address.address} does not accept connections`, {
        cause: reason,
      });
    }
    throw reason;
  }
  void readStdio(channel);
  return channel;
}

/** Nomad discards what comes here, and so do we. Drivers may serve it or not. */
async function readStdio(channel: PluginChannel): Promise<void> {
  try {
    for await (const _ of channel.serverStream(GRPCStdio.method.streamStdio, {}));
  } catch {
    // its end says nothing that the connection's state does not say better
  }
}

/** Who the plugin must be. @public */
export interface ExpectedPlugin {
  readonly name?: string;
  readonly version?: string;
}

/** Called with the plugin's own words; false or a throw refuses it. @public */
export type VerifyPlugin = (info: PluginInfo) => boolean | Promise<boolean>;

/** @throws {@link PluginStartError} of kind `identity` or `api-version` */
export async function checkIdentity(
  info: PluginInfo,
  expected: ExpectedPlugin | undefined,
  verify: VerifyPlugin | undefined,
  logger: Logger,
): Promise<void> {
  const refuse = (what: string): never => {
    throw new PluginStartError("identity", `plugin ${JSON.stringify(info.name)} ${what}`, {
      details: { name: info.name },
    });
  };
  if (info.type !== "driver") refuse(`is a ${info.type} plugin, not a driver`);
  if (expected?.name !== undefined && info.name !== expected.name) refuse(`is not ${JSON.stringify(expected.name)}`);
  if (expected?.version !== undefined && info.version !== expected.version) {
    refuse(`has version ${info.version}, not ${expected.version}`);
  }
  if (verify !== undefined && !(await verify(info))) refuse("was refused by the caller's check");
  if (commonApiVersion(info) === undefined) {
    throw new PluginStartError(
      "api-version",
      `plugin ${JSON.stringify(info.name)} speaks driver API ${info.apiVersions.join(", ") || "(none)"}, this host v${API_VERSIONS.join(", v")}`,
    );
  }
  logger.debug({ driver: info.name, version: info.version }, "plugin attached");
}
