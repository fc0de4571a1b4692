import { ServerResponse, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { writeError } from "./broken-request.ts";

/** A connection whose client wants to speak another protocol. */
export interface Upgrade {
  readonly socket: Duplex;
  /** What came after the request. */
  readonly head: Buffer;
  /** Takes the connection away from HTTP: from now on it is the caller's. */
  take(): void;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/**
 * Lets requests with an `Upgrade` header go the way of all others: guard, routes, errors. A resource that speaks websocket takes the connection;
 * all others answer as if the header were not there, and the connection ends after the answer.
 */
export function acceptUpgrades(app: FastifyInstance): void {
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    if (request.method !== "GET" && request.method !== "HEAD") {
      // its body would be the first bytes of the other protocol
      return writeError(socket as Socket, 400, "a request with a body cannot ask for another protocol");
    }
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    const over = (): void => void socket.end();
    response.once("finish", over);
    upgrades.set(request, {
      socket,
      head,
      take() {
        response.removeListener("finish", over);
        response.detachSocket(socket as Socket);
      },
    });
    app.routing(request, response);
  });
}

/** The other protocol that a request asked for; `undefined` for a plain request. */
export function upgradeOf(request: IncomingMessage): Upgrade | undefined {
  return upgrades.get(request);
}
