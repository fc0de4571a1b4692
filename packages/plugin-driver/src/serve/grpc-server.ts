/** The gRPC server of a driver and its connections. */
import type { Server as NetServer, Socket } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { systemClock, type Clock } from "@outrider/backoff";
import type { DriverPlugin } from "../contract/driver.ts";
import { BasePlugin } from "../gen/base_pb.js";
import { Driver } from "../gen/driver_pb.js";
import { baseMethods } from "./base-service.ts";
import type { DriverServer, DriverServerOptions, ServerTls } from "./driver-server.ts";
import { driverMethods } from "./driver-service.ts";
import { addService } from "./grpc-handlers.ts";
import { addPlumbing } from "./plumbing.ts";
import { serviceContext } from "./service-context.ts";

/** After an answered Shutdown: so long may the host take to hang up. */
const HANG_UP_MS = 250;
/** Calls that are still open after this long are cancelled when the server closes. */
const DRAIN_MS = 30;
/** How long a closing server waits for a host to take its last answers. */
const FLUSH_LIMIT_MS = 200;
/** The gRPC server with all services of a driver plugin, not yet listening anywhere. */
function buildServer(driver: DriverPlugin, o: DriverServerOptions, onShutdown: () => void): Server {
  const server = new Server({
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
    // Nobody inspects this server by channelz; it would keep a record per call.
    "grpc.enable_channelz": 0,
  });
  addPlumbing(server, onShutdown);
  addService(server, BasePlugin, baseMethods(driver));
  addService(server, Driver, driverMethods(serviceContext(driver, o)));
  return server;
}

/** See `create-driver-server.ts`. `early` are connections that came before this was loaded; Node hands on what they sent meanwhile. */
export function serveGrpc(
  driver: DriverPlugin,
  o: DriverServerOptions & { readonly listener: NetServer },
  early: readonly Socket[],
): DriverServer {
  const { socketPath, listener } = o;
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
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // A peer that dies in the middle of a write is no news.
    socket.on("error", () => undefined);
    injector.injectConnection(socket);
  };
  listener.on("connection", accept);
  for (const socket of early) accept(socket);

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
