import { EventEmitter } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { Connections } from "../../src/http/connections.ts";

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string | undefined;
  destroyed = false;
  writable = true;
  text = "";
  constructor(remoteAddress?: string) {
    super();
    this.remoteAddress = remoteAddress;
  }
  end(text: string): void {
    this.text += text;
  }
  destroySoon(): void {
    this.destroy();
  }
  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit("close");
  }
}

class FakeResponse extends EventEmitter {
  writableEnded = false;
}

class Rig {
  readonly server = new EventEmitter() as unknown as Server;
  readonly connections: Connections;
  constructor(limits: { total: number; perAddress: number }) {
    this.connections = new Connections(limits);
    this.connections.watch(this.server);
  }
  connect(address: string | undefined = "127.0.0.1"): FakeSocket {
    const socket = new FakeSocket(address);
    this.server.emit("connection", socket as unknown as Socket);
    return socket;
  }
  ask(socket: FakeSocket, complete = true): FakeResponse {
    const response = new FakeResponse();
    this.server.emit(
      "request",
      { socket, complete } as unknown as IncomingMessage,
      response as unknown as ServerResponse,
    );
    return response;
  }
}

describe("the number of connections", () => {
  it("is kept by giving up the one that has been idle longest", () => {
    const rig = new Rig({ total: 3, perAddress: 3 });
    const [a, b, c] = [rig.connect(), rig.connect(), rig.connect()];
    // The first one was used last.
    rig.ask(a).emit("close");
    const d = rig.connect();
    expect([a, b, c, d].map((s) => s.destroyed)).toEqual([false, true, false, false]);
    expect(rig.connections.size).toBe(3);
    d.destroy();
    expect(rig.connections.size).toBe(2);
  });

  it("is kept by giving up a client that does not finish its request or does not read its answer", () => {
    const rig = new Rig({ total: 3, perAddress: 3 });
    const [working, sending, reading] = [rig.connect(), rig.connect(), rig.connect()];
    rig.ask(working);
    rig.ask(sending, false);
    rig.ask(reading).writableEnded = true;
    for (let i = 0; i < 2; i++) rig.ask(rig.connect());
    expect([working, sending, reading].map((s) => s.destroyed)).toEqual([false, true, true]);
    // All are at work now: the new one is told.
    const last = rig.connect();
    expect(last.text).toContain("429 Too Many Requests");
    expect(last.destroyed).toBe(true);
    expect(rig.connections.size).toBe(3);
  });

  it("never costs a connection that became another protocol", () => {
    const rig = new Rig({ total: 1, perAddress: 1 });
    rig.server.on("unrelated", () => undefined);
    rig.server.on("upgrade", () => undefined);
    const socket = rig.connect();
    rig.server.emit("upgrade", { socket } as unknown as IncomingMessage);
    rig.server.emit("upgrade", { socket: new FakeSocket() } as unknown as IncomingMessage);
    expect(rig.connect().destroyed).toBe(true);
    expect(socket.destroyed).toBe(false);
  });

  it("is smaller for each other machine, and not counted for this one", () => {
    const rig = new Rig({ total: 100, perAddress: 2 });
    const local = [undefined, "127.0.0.1", "::1", "::ffff:127.0.0.5"].map((address) => rig.connect(address));
    const far = [rig.connect("10.0.0.1"), rig.connect("10.0.0.1")];
    for (const socket of far) rig.ask(socket);
    expect(rig.connect("10.0.0.1").destroyed).toBe(true);
    expect(rig.connect("10.0.0.2").destroyed).toBe(false);
    far[0]?.destroy();
    const third = rig.connect("10.0.0.1");
    const fourth = rig.connect("10.0.0.1");
    expect([third.destroyed, fourth.destroyed]).toEqual([true, false]);
    expect(local.every((s) => !s.destroyed)).toBe(true);
  });

  it("counts what each has asked", () => {
    const rig = new Rig({ total: 9, perAddress: 9 });
    const socket = rig.connect();
    rig.ask(socket);
    rig.ask(socket);
    expect(rig.connections.asked(socket as unknown as Socket)).toBe(2);
    expect(rig.connections.asked(undefined)).toBe(0);
    const stranger = new FakeSocket();
    rig.ask(stranger);
    expect(rig.connections.asked(stranger as unknown as Socket)).toBe(0);
  });
});
