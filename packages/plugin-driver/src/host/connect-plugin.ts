/** Attaching to a driver that runs already. */
import { systemClock, type Clock } from "@outrider/backoff";
import { noopLogger, type Logger } from "@outrider/foundation";
import { PluginStartError } from "../contract/errors.ts";
import { isAlive } from "../process/process-identity.ts";
import { checkSocketPath } from "../wire/socket-path.ts";
import { checkIdentity, type ExpectedPlugin, openChannel, type VerifyPlugin } from "./attach.ts";
import { HostedDriver, type ReattachRecord } from "./hosted-driver.ts";
import { type CallTimeouts, DEFAULT_CALL_TIMEOUTS } from "./timeouts.ts";

/** Options of {@link connectPlugin}. @public */
export interface ConnectPluginOptions {
  /** A driver that listens on a unix socket of its own accord. */
  readonly socketPath?: string;
  /** A driver that an earlier host launched: the record it kept. */
  readonly reattach?: ReattachRecord;
  /** Who must answer. */
  readonly expect?: ExpectedPlugin;
  readonly verify?: VerifyPlugin;
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly timeouts?: Partial<CallTimeouts>;
  readonly signal?: AbortSignal;
}

/** See `entry.ts`. */
export async function connectPlugin(o: ConnectPluginOptions): Promise<HostedDriver> {
  const { clock = systemClock, logger = noopLogger, signal } = o;
  const timeouts = { ...DEFAULT_CALL_TIMEOUTS, ...o.timeouts };
  if ((o.socketPath === undefined) === (o.reattach === undefined)) {
    throw new PluginStartError("connect", "exactly one of socketPath and reattach is needed");
  }
  const record: ReattachRecord = o.reattach ?? { protocol: "grpc", network: "unix", address: o.socketPath ?? "" };
  if (record.tls === true) {
    throw new PluginStartError("certificate", "plugin speaks TLS with a certificate that only its launcher had");
  }
  if (record.network === "unix") checkSocketPath(record.address);
  if (record.process !== undefined && !isAlive(record.process)) {
    throw new PluginStartError("connect", `plugin process ${record.process.pid} is gone`, {
      details: { address: record.address },
    });
  }
  const channel = await openChannel(record, { clock, timeouts, signal });
  const driver = new HostedDriver({ channel, reattach: record, timeouts, clock, logger });
  try {
    await checkIdentity(await driver.info(signal), o.expect, o.verify, logger);
    await driver.init(signal);
  } catch (reason) {
    driver.detach();
    throw reason;
  }
  return driver;
}
