/** A driver behind a unix socket: the whole of a plugin but for the handshake. */
import { chmod, unlink } from "node:fs/promises";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { DriverPlugin } from "../contract/driver.ts";
import { PluginStartError } from "../contract/errors.ts";
import { checkSocketPath } from "../wire/socket-path.ts";

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
  /** Called when hosts can connect; they are answered as soon as what speaks gRPC is loaded. @internal */
  readonly onListening?: () => void;
  /** TLS that only the holder of one certificate gets through. @internal */
  readonly tls?: ServerTls;
}

/** A running server. @public */
export interface DriverServer extends AsyncDisposable {
  readonly socketPath: string | undefined;
  /** Ends all connections and removes the socket file; idempotent. Tasks are not touched. */
  close(): Promise<void>;
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
  const listener = o.listener ?? createServer();
  const early: Socket[] = [];
  const keep = (socket: Socket): void => void early.push(socket.on("error", () => undefined));
  listener.on("connection", keep);
  if (socketPath !== undefined) {
    await unlink(socketPath).catch(() => undefined);
    await listen(listener, socketPath);
    await chmod(socketPath, 0o600);
  }
  o.onListening?.();
  // Only now, since it takes longer than all the rest. A driver behind a carrier of its own does without it.
  const { serveGrpc } = await import("./grpc-server.ts");
  listener.off("connection", keep);
  return serveGrpc(driver, { ...o, listener }, early);
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
