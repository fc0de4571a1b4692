/** Starting a plugin executable, as Nomad's agent does. */
import { type ChildProcess, spawn } from "node:child_process";
import { basename } from "node:path";
import { type ChannelCredentials, credentials as grpcCredentials } from "@grpc/grpc-js";
import { systemClock, type Clock } from "@outrider/backoff";
import { noopLogger, type Logger } from "@outrider/foundation";
import { PluginStartError } from "../contract/errors.ts";
import { type ProcessIdentity, processIdentity } from "../process/process-identity.ts";
import { createCertificate, type OneTimeCertificate, readCertificate } from "../protocol/certificate.ts";
import { MAGIC_COOKIE_KEY, MAGIC_COOKIE_VALUE } from "../protocol/plugin-env.ts";
import { checkIdentity, type ExpectedPlugin, openChannel, type VerifyPlugin } from "./attach.ts";
import { readFirstLine } from "./first-line.ts";
import { APP_VERSIONS, parseHandshake } from "./handshake.ts";
import { HostedDriver, type PluginExit, type ProcessControl } from "./hosted-driver.ts";
import { createLogRelay } from "./log-relay.ts";
import { type CallTimeouts, DEFAULT_CALL_TIMEOUTS, DEFAULT_START_TIMEOUT_MS } from "./timeouts.ts";

/** go-plugin's port range for plugins that listen on TCP. */
const TCP_PORTS = { PLUGIN_MIN_PORT: "10000", PLUGIN_MAX_PORT: "25000" };
/** Without it not even `#!/usr/bin/env` works. */
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The part of `node:child_process` that is used; tests bring their own. */
export type SpawnPlugin = (
  command: string,
  args: readonly string[],
  options: { readonly env: Record<string, string>; readonly cwd?: string },
) => ChildProcess;

/** Options of {@link launchPlugin}. @public */
export interface LaunchPluginOptions {
  readonly command: string;
  readonly args?: readonly string[];
  /** The plugin's whole environment beside the variables of the protocol; by default a usual PATH and nothing else. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Who must answer. */
  readonly expect?: ExpectedPlugin;
  readonly verify?: VerifyPlugin;
  /** Gets the plugin's stderr, line by line with its level. */
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly timeouts?: Partial<CallTimeouts>;
  /** From spawn to handshake line. Default {@link DEFAULT_START_TIMEOUT_MS}. */
  readonly startTimeoutMs?: number;
  /** Ends the start; a plugin that has started is not touched by it. */
  readonly signal?: AbortSignal;
  /**
   * Speak TLS with certificates of this one launch (default false; Nomad does not). Needs the optional packages `@peculiar/x509` and
   * `reflect-metadata`. Nobody can attach to such a plugin later.
   */
  readonly autoMtls?: boolean;
  readonly spawn?: SpawnPlugin;
}

const spawnDetached: SpawnPlugin = (command, args, { env, cwd }) =>
  // A session of its own: what a terminal sends to our group must not reach the plugin, which outlives us.
  spawn(command, args, {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    ...(cwd === undefined ? {} : { cwd }),
  });

/** See `entry.ts`. */
export async function launchPlugin(o: LaunchPluginOptions): Promise<HostedDriver> {
  const { command, args = [], clock = systemClock, signal } = o;
  const timeouts = { ...DEFAULT_CALL_TIMEOUTS, ...o.timeouts };
  const logger = (o.logger ?? noopLogger).child({ plugin: basename(command) });
  signal?.throwIfAborted();
  const certificate = o.autoMtls === true ? await createCertificate(clock) : undefined;
  signal?.throwIfAborted();
  const child = (o.spawn ?? spawnDetached)(command, args, {
    env: {
      PATH: DEFAULT_PATH,
      ...o.env,
      [MAGIC_COOKIE_KEY]: MAGIC_COOKIE_VALUE,
      ...TCP_PORTS,
      PLUGIN_PROTOCOL_VERSIONS: APP_VERSIONS.join(","),
      ...(certificate === undefined ? {} : { PLUGIN_CLIENT_CERT: certificate.certPem }),
    },
    ...(o.cwd === undefined ? {} : { cwd: o.cwd }),
  });
  const control = await started(child, command);
  relayStderr(child, logger);
  const identity = child.pid === undefined ? undefined : processIdentity(child.pid);
  try {
    return await shakeHands(child, control, identity, { ...o, clock, timeouts, logger, certificate });
  } catch (reason) {
    killTree(child);
    control.release();
    throw reason;
  }
}

type Resolved = LaunchPluginOptions & {
  readonly clock: Clock;
  readonly timeouts: CallTimeouts;
  readonly logger: Logger;
  readonly certificate: OneTimeCertificate | undefined;
};

async function shakeHands(
  child: ChildProcess,
  control: ProcessControl,
  identity: ProcessIdentity | undefined,
  o: Resolved,
): Promise<HostedDriver> {
  const { clock, timeouts, logger, signal } = o;
  const began = clock.monotonic();
  if (child.stdout === null) throw new PluginStartError("spawn", "plugin was spawned without a stdout pipe");
  const line = await readFirstLine({
    stdout: child.stdout,
    exited: control.exited,
    timeoutMs: o.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS,
    clock,
    signal,
  });
  const { network, address, serverCert } = parseHandshake(line);
  const credentials = channelCredentials(o.certificate, serverCert);
  logger.debug({ handshakeMs: clock.monotonic() - began, pid: child.pid }, "plugin handshake");
  const channel = await openChannel({ network, address }, { clock, timeouts, signal, credentials });
  const driver = new HostedDriver({
    channel,
    reattach: {
      protocol: "grpc",
      network,
      address,
      ...(identity === undefined ? {} : { process: identity }),
      ...(credentials._isSecure() ? { tls: true as const } : {}),
    },
    timeouts,
    clock,
    logger,
    control,
  });
  try {
    await checkIdentity(await driver.info(signal), o.expect, o.verify, logger);
  } catch (reason) {
    driver.detach();
    throw reason;
  }
  return driver;
}

/** Both sides or neither: each trusts the other's certificate and nothing else. */
function channelCredentials(own: OneTimeCertificate | undefined, serverCert: string): ChannelCredentials {
  if (own === undefined) {
    if (serverCert === "") return grpcCredentials.createInsecure();
    throw new PluginStartError("certificate", "plugin asks for TLS, which this host did not offer");
  }
  if (serverCert === "") {
    throw new PluginStartError("certificate", "plugin sent no certificate, although this host asked for TLS");
  }
  const root = Buffer.from(readCertificate(serverCert, "plugin"));
  return grpcCredentials.createSsl(root, Buffer.from(own.keyPem), Buffer.from(own.certPem));
}

/** Resolves once the process runs. */
function started(child: ChildProcess, command: string): Promise<ProcessControl> {
  // Not "close": a task that inherited a pipe would keep a dead plugin alive.
  const exited = new Promise<PluginExit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const control: ProcessControl = {
    exited,
    kill: () => child.kill("SIGKILL"),
    release: () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.unref();
    },
  };
  return new Promise((resolve, reject) => {
    child.once("spawn", () => resolve(control));
    child.once("error", (reason) => {
      reject(
        new PluginStartError("spawn", `plugin ${command} cannot be started: ${reason.message}`, { cause: reason }),
      );
    });
  });
}

function relayStderr(child: ChildProcess, logger: Logger): void {
  const relay = createLogRelay(logger);
  child.stderr?.on("data", (chunk: Buffer) => relay.push(chunk));
  child.stderr?.on("end", () => relay.end());
  // A broken pipe ends with the process; there is nothing to do about it here.
  child.stderr?.on("error", () => undefined);
  child.stdout?.on("error", () => undefined);
}

/** After a failed start no task can run yet, so that the whole group may go, forked children included. */
function killTree(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL"); // it leads no group, or is gone already
  }
}
