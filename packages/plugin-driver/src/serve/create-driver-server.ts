/** A driver behind a unix socket: the whole of a plugin but for the handshake. */
import { chmod, unlink } from "node:fs/promises";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { systemClock, type Clock } from "@outrider/backoff";
import { noopLogger, type Logger } from "@outrider/foundation";
import type { DriverPlugin } from "../contract/driver.ts";
import { PluginStartError } from "../contract/errors.ts";
import { checkSocketPath } from "../wire/socket-path.ts";
import { baseService } from "./base-service.ts";
import { driverService } from "./driver-service.ts";
import { addPlumbing } from "./plumbing.ts";
import { PLUGIN_VARIABLES } from "../protocol/plugin-env.ts";

/** After an answered Shutdown: so long may the host take to hang up. */
const HANG_UP_MS = 250;
/** Calls that are still open after this long are cancelled when the server closes. */
const DRAIN_MS = 30;
/** How long a closing server waits for a host to take its last answers. */
const FLUSH_LIMIT_MS = 200;
/** Certificates of a server that speaks mutual TLS, in PEM. @internal */
export interface ServerTls {
  readonly certPem: string;
  readonly keyPem: string;
  /** The one client that may connect. */
  readonly clientCertPem: string;
}

/** Options of {@link createDriverServer}. @public */
export interface DriverServerOptions {
  /** Where to listen: a path of at most 107 bytes. A stale file there is removed. */
  readonly socketPath?: string;
  /** A server of the caller instead; it is neither bound nor closed here. */
  readonly listener?: NetServer;
  /** Called once after a host has asked the plugin to end and has its answer. By default the server closes. */
  readonly onShutdown?: () => void;
  /**
   * Holds the write ends of the task's output fifos while `startTask` runs (default true): a stock agent waits 4 s for fifos that
   * nobody opened. Off for a driver that makes the fifos itself.
   */
  readonly guardFifos?: boolean;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** TLS that only the holder of one certificate gets through. @internal */
  readonly tls?: ServerTls;
}

/** A running server. @public */
export interface DriverServer extends AsyncDisposable {
  readonly socketPath: string | undefined;
  /** Ends all connections and removes the socket file; idempotent. Tasks are not touched. */
  close(): Promise<void>;
}

/** The gRPC server with all services of a driver plugin, not yet listening anywhere. */
export function buildServer(driver: DriverPlugin, o: DriverServerOptions, onShutdown: () => void): Server {
  const server = new Server({
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
    // Nobody inspects this server by channelz; it would keep a record per call.
    "grpc.enable_channelz": 0,
  });
  addPlumbing(server, onShutdown);
  server.addService(...baseService(driver));
  server.addService(
    ...driverService({
      driver,
      logger: o.logger ?? noopLogger,
      clock: o.clock ?? systemClock,
      cleanEnv: PLUGIN_VARIABLES,
      guardFifos: o.guardFifos ?? true,
    }),
  );
  return server;
}

/**
 * Serves a driver on a unix socket without a handshake, for as long as the caller likes: the form in which a detached
 * driver process outlives its agent. `connectPlugin` of `./host` attaches to it.
 * @throws {@link PluginStartError} of kind `socket-path` for a path that does not fit
 * @public
 */
export async function createDriverServer(driver: DriverPlugin, o: DriverServerOptions): Promise<DriverServer> {
  const { socketPath } = o;
  if ((socketPath === undefined) === (o.listener === undefined)) {
    throw new PluginStartError("socket-path", "exactly one of socketPath and listener is needed");
  }
  if (socketPath !== undefined) checkSocketPath(socketPath);
  const sockets = new Set<Socket>();
  let closing: Promise<void> | undefined;
  const clock = o.clock ?? systemClock;
  const leave = async (): Promise<void> => {
    // A host hangs up when it has the answer: then it has certainly left.
    await closedAll(sockets, HANG_UP_MS, clock);
    if (o.onShutdown === undefined) await close();
    else o.onShutdown();
  };
  const server = buildServer(driver, o, () => void leave());
  const injector = server.createConnectionInjector(credentialsOf(o.tls));
  const listener = o.listener ?? createServer();
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // A peer that dies in the middle of a write is no news.
    socket.on("error", () => undefined);
    injector.injectConnection(socket);
  };
  listener.on("connection", accept);
  if (socketPath !== undefined) {
    await unlink(socketPath).catch(() => undefined);
    await listen(listener, socketPath);
    await chmod(socketPath, 0o600);
  }

  function close(): Promise<void> {
    closing ??= (async () => {
      listener.off("connection", accept);
      const closed =
        socketPath === undefined ? Promise.resolve() : new Promise<void>((resolve) => listener.close(() => resolve()));
      // In order first, so that answers in flight still leave; streams that wait for tasks never end by themselves.
      injector.drain(DRAIN_MS);
      await closedAll(sockets, FLUSH_LIMIT_MS, clock);
      for (const socket of sockets) socket.destroy();
      injector.destroy();
      server.forceShutdown();
      await closed;
    })();
    return closing;
  }
  return { socketPath, close, [Symbol.asyncDispose]: close };
}

function credentialsOf(tls: ServerTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const pair = { cert_chain: Buffer.from(tls.certPem), private_key: Buffer.from(tls.keyPem) };
  return ServerCredentials.createSsl(Buffer.from(tls.clientCertPem), [pair], true);
}

/** Waits for the end of all connections, but not longer than `ms`. */
async function closedAll(sockets: ReadonlySet<Socket>, ms: number, clock: Clock): Promise<void> {
  let timer: unknown;
  const limit = new Promise<void>((resolve) => (timer = clock.setTimeout(resolve, ms)));
  const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  await Promise.race([Promise.all(closed), limit]);
  clock.clearTimeout(timer);
}

function listen(listener: NetServer, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(path, () => {
      listener.off("error", reject);
      resolve();
    });
  });
}
