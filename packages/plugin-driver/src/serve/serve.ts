/** A plugin executable: from the cookie to the last byte. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { format } from "node:util";
import { randomBytes } from "node:crypto";
import { systemClock, type Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { DriverPlugin } from "../contract/driver.ts";
import { closeInheritedDescriptors } from "../process/close-inherited.ts";
import { createCertificate, readCertificate } from "../protocol/certificate.ts";
import { MAGIC_COOKIE_KEY, MAGIC_COOKIE_VALUE, PLUGIN_VARIABLES } from "../protocol/plugin-env.ts";
import { MAX_SOCKET_PATH_BYTES } from "../wire/socket-path.ts";
import { createDriverServer } from "./create-driver-server.ts";
import type { DriverServer, ServerTls } from "./driver-server.ts";
import { createPluginLogger, type LogLevel } from "./hclog.ts";
import { type HostStdio, nodeStdio, takeStdio } from "./private-stdio.ts";

/** The process that a plugin runs in, to be replaced in tests. */
export interface PluginProcess {
  readonly env: Record<string, string | undefined>;
  readonly pid: number;
  on(
    event: "SIGINT" | "SIGTERM" | "SIGHUP" | "uncaughtException" | "unhandledRejection",
    fn: (reason: unknown) => void,
  ): unknown;
  exit(code: number): void;
}

/** Options of {@link serve}. @public */
export interface ServeOptions {
  /** The least level that is sent to the agent, which filters again. Default `debug`. */
  readonly logLevel?: LogLevel;
  /** Shown as the origin of log lines. Default `driver`. */
  readonly module?: string;
  /** Where the driver gets its logger; called once, before anything is served. */
  readonly onLogger?: (logger: Logger) => void;
  readonly clock?: Clock;
  /** @internal */
  readonly process?: PluginProcess;
  /** @internal */
  readonly stdio?: () => HostStdio;
  /** @internal */
  readonly tempDir?: string;
  /** Told instead of serving when no agent started the program. Default: stderr. @internal */
  readonly onUsage?: (text: string) => void;
}

/** Application protocol of Nomad's plugins. */
const APP_VERSION = 2;
/** Lines in flight get this long when the plugin ends. */
const FLUSH_MS = 200;

const THIS_IS_A_PLUGIN =
  "This program is a Nomad task driver plugin. It is started by an agent and not meant to be run by hand.\n" +
  "Put it into the agent's plugin_dir and name its file in a `plugin` block of the agent's configuration.\n";

/** A short unique path: a long TMPDIR must not break the socket. */
export function socketPath(
  folders: readonly (string | undefined)[],
  pid: number,
): { readonly path: string; readonly folder?: string } {
  const name = `plugin${pid}${randomBytes(4).toString("hex")}`;
  for (const folder of folders) {
    if (folder === undefined || folder === "") continue;
    const path = join(folder, name);
    if (Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) return { path };
  }
  const folder = mkdtempSync("/tmp/outrider-");
  return { path: join(folder, "s"), folder };
}

/** The plugin's side of AutoMTLS: a certificate of its own, and the host's as the only one it trusts. */
async function answerTls(clientCert: string, clock: Clock): Promise<ServerTls & { readonly field: string }> {
  const clientCertPem = readCertificate(clientCert, "the host");
  return { ...(await createCertificate(clock)), clientCertPem };
}

/** console.log would break the handshake or vanish: it becomes log lines. */
function captureConsole(logger: Logger): void {
  const relay =
    (level: "debug" | "info" | "warn" | "error") =>
    (...parts: unknown[]): void =>
      logger[level](format(...parts));
  Object.assign(console, {
    log: relay("info"),
    info: relay("info"),
    debug: relay("debug"),
    warn: relay("warn"),
    error: relay("error"),
    trace: relay("debug"),
  });
}

/**
 * Serves a driver to the agent that started this process, until that agent asks it to end. Never resolves: the process exits.
 *
 * It checks the cookie, keeps stdin, stdout, stderr and the protocol's variables away from tasks, turns `console` into log lines,
 * ignores SIGINT (a terminal's Ctrl-C reaches plugins too), leaves tasks alone on SIGTERM, and lives on when the agent dies.
 * @public
 */
export async function serve(driver: DriverPlugin, o: ServeOptions = {}): Promise<never> {
  const { clock = systemClock } = o;
  const host = o.process ?? (process as unknown as PluginProcess);
  const stdio =
    o.stdio ??
    (() => {
      closeInheritedDescriptors();
      return takeStdio({ ...nodeStdio, setTimeout: (fn, ms) => clock.setTimeout(fn, ms) });
    });
  const forever = new Promise<never>(() => undefined);
  if (host.env[MAGIC_COOKIE_KEY] !== MAGIC_COOKIE_VALUE) {
    (o.onUsage ?? ((text) => nodeStdio.write(2, text)))(THIS_IS_A_PLUGIN);
    host.exit(1);
    return forever;
  }
  const pipes = stdio();
  const wantedFolder = host.env["PLUGIN_UNIX_SOCKET_DIR"];
  const versions = host.env["PLUGIN_PROTOCOL_VERSIONS"];
  const clientCert = host.env["PLUGIN_CLIENT_CERT"];
  const wantsMux = host.env["PLUGIN_MULTIPLEX_GRPC"] !== undefined;
  // From here on no child of ours can inherit them.
  for (const name of PLUGIN_VARIABLES) delete host.env[name];
  const logger = createPluginLogger({
    write: (line) => pipes.log(line),
    now: () => clock.now(),
    ...(o.logLevel === undefined ? {} : { level: o.logLevel }),
    ...(o.module === undefined ? {} : { module: o.module }),
  });
  captureConsole(logger);
  o.onLogger?.(logger);
  let server: DriverServer | undefined;
  let ending = false;
  let certField = "";
  const { path, folder } = socketPath([wantedFolder ?? o.tempDir, tmpdir(), "/tmp"], host.pid);
  const end = async (code: number): Promise<void> => {
    if (ending) return;
    ending = true;
    await server?.close();
    // without a server yet nobody else removes it
    rmSync(folder ?? path, { recursive: true, force: true });
    await pipes.flush(FLUSH_MS);
    host.exit(code);
  };
  const crash = (reason: unknown): void => {
    const { stack } = reason as { stack?: string };
    logger.error({ err: reason, ...(stack === undefined ? {} : { stack }) }, "driver failed outside of a call");
    void end(1);
  };
  host.on("uncaughtException", crash);
  host.on("unhandledRejection", crash);
  host.on("SIGINT", () => undefined);
  host.on("SIGHUP", () => undefined);
  host.on("SIGTERM", () => void end(0));
  try {
    const tls = clientCert === undefined ? undefined : await answerTls(clientCert, clock);
    certField = tls?.field ?? "";
    server = await createDriverServer(driver, {
      socketPath: path,
      onShutdown: () => void end(0),
      onListening: () => {
        if (versions !== undefined && !versions.split(",").includes(String(APP_VERSION))) {
          logger.warn({ versions }, "the agent does not speak this driver's protocol version");
        }
        pipes.handshake(`1|${APP_VERSION}|unix|${path}|grpc|${certField}${wantsMux ? "|false" : ""}\n`);
      },
      logger,
      clock,
      ...(tls === undefined ? {} : { tls }),
    });
  } catch (reason) {
    crash(reason);
    return forever;
  }
  return forever;
}
