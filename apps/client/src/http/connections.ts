import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { writeError } from "./broken-request.ts";

/** Bounds of connections. */
export interface ConnectionLimits {
  /** All at one time. */
  readonly total: number;
  /** Of one other machine at one time. */
  readonly perAddress: number;
}

/** Defaults: above what queries and streams that wait may hold, so that there is always a connection to give up. */
export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = { total: 1024, perAddress: 128 };

/** One connection and what it is busy with. */
class Connection {
  readonly socket: Socket;
  readonly address: string;
  /** Requests so far. */
  asked = 0;
  /** Became another protocol: none of our requests, but in use. */
  upgraded = false;
  readonly #open = new Set<readonly [IncomingMessage, ServerResponse]>();

  constructor(socket: Socket, address: string) {
    this.socket = socket;
    this.address = address;
  }

  begin(request: IncomingMessage, response: ServerResponse): void {
    this.asked += 1;
    const entry = [request, response] as const;
    this.#open.add(entry);
    response.once("close", () => this.#open.delete(entry));
  }

  get idle(): boolean {
    return this.#open.size === 0 && !this.upgraded;
  }

  /** Nobody works for it: all its requests are still on their way here, or their answers on their way to it. */
  get stalled(): boolean {
    if (this.upgraded) return false;
    for (const [request, response] of this.#open) if (request.complete && !response.writableEnded) return false;
    return true;
  }
}

/**
 * Keeps the number of connections in bounds without locking anybody out: when there are too many, the one that has been idle
 * longest is given up for the new one; then one whose client neither finishes its request nor reads its answer.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  /** The longest idle first. */
  readonly #all = new Map<Socket, Connection>();
  readonly #byAddress = new Map<string, number>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Looks after all connections of a server. */
  watch(server: Server): void {
    // The server's own bound is the last resort, for the moment between a connection's end and its close.
    server.maxConnections = this.#limits.total + 64;
    server.on("connection", (socket) => this.#admit(socket));
    server.prependListener("request", (request, response) => {
      const connection = this.#all.get(request.socket);
      if (connection === undefined) return;
      this.#all.delete(request.socket);
      this.#all.set(request.socket, connection);
      connection.begin(request, response);
    });
    // A server that hears of upgrades must answer them all, so this one listens only when somebody else does.
    const onListener = (event: string | symbol): void => {
      if (event !== "upgrade") return;
      server.off("newListener", onListener);
      server.on("upgrade", ({ socket }: IncomingMessage) => {
        const connection = this.#all.get(socket);
        if (connection !== undefined) connection.upgraded = true;
      });
    };
    server.on("newListener", onListener);
  }

  /** How many requests a connection has made; 0 for one that is not known. */
  asked(socket: Socket | undefined): number {
    return (socket === undefined ? undefined : this.#all.get(socket)?.asked) ?? 0;
  }

  #admit(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    const connection = new Connection(socket, isLocal(address) ? "" : address);
    const others = this.#byAddress.get(connection.address) ?? 0;
    const crowded = connection.address !== "" && others >= this.#limits.perAddress;
    if ((crowded || this.size >= this.#limits.total) && !this.#giveUp(crowded ? connection.address : undefined)) {
      writeError(socket, 429, "429 Too Many Requests: too many connections");
      socket.destroySoon();
      return;
    }
    this.#all.set(socket, connection);
    this.#byAddress.set(connection.address, others + 1);
    socket.once("close", () => this.#forget(connection));
  }

  #forget({ socket, address }: Connection): void {
    if (!this.#all.delete(socket)) return;
    const left = (this.#byAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#byAddress.set(address, left);
    else this.#byAddress.delete(address);
  }

  /** Ends one connection (of an address) that nobody misses; false when all are at work. */
  #giveUp(address: string | undefined): boolean {
    let stalled: Connection | undefined;
    for (const connection of this.#all.values()) {
      if (address !== undefined && connection.address !== address) continue;
      if (connection.idle) return this.#end(connection);
      if (stalled === undefined && connection.stalled) stalled = connection;
    }
    return stalled !== undefined && this.#end(stalled);
  }

  #end(connection: Connection): true {
    this.#forget(connection);
    connection.socket.destroy();
    return true;
  }
}

/** Unix sockets have no address; on this machine all share one, so that a number of one of them says nothing. */
function isLocal(address: string): boolean {
  return address === "" || address === "::1" || /^(::ffff:)?127\./.test(address);
}
