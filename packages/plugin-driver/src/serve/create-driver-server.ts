/** A driver behind a unix socket: the whole of a plugin but for the handshake. */
import { chmod, unlink } from "node:fs/promises";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import type { DriverPlugin } from "../contract/driver.ts";
import { PluginStartError } from "../contract/errors.ts";
import { checkSocketPath } from "../wire/socket-path.ts";
import type { DriverServer, DriverServerOptions } from "./driver-server.ts";

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
