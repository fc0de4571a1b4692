import { createSocket, type Socket } from "node:dgram";
import { HookTelemetryError } from "../error.ts";
import type { Labels, MetricsSink } from "../metrics-sink.ts";
import { statsdLine, type StatsdDialect, type StatsdType } from "./statsd-line.ts";

/** Largest datagram, bytes. @public */
export const DEFAULT_MAX_PACKET_BYTES = 1400;
/** Lines that may wait to be sent. @public */
export const DEFAULT_MAX_QUEUE = 4096;

/** Options of {@link createStatsdSink}. @public */
export interface StatsdSinkOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Default 8125. */
  readonly port?: number | undefined;
  /** Default `statsd`. */
  readonly dialect?: StatsdDialect | undefined;
  /** Default 1400. A longer line goes alone. */
  readonly maxPacketBytes?: number | undefined;
  /** Lines beyond this are dropped and counted. Default 4096. */
  readonly maxQueue?: number | undefined;
  /** Default `udp4`. */
  readonly family?: "udp4" | "udp6" | undefined;
  /** Told of network failures; the datapoints concerned are lost, as UDP's are. */
  readonly onError?: ((error: Error) => void) | undefined;
}

/** A StatsD sink with a socket of its own. */
export interface StatsdSink extends MetricsSink, AsyncDisposable {
  setGauge(name: string, value: number, labels: Labels): void;
  /** Resolves when everything written so far was handed to the system. */
  flush(): Promise<void>;
  /** Lines dropped because too many waited, or because sending failed. */
  readonly dropped: number;
}

/**
 * Makes a sink that sends UDP datagrams: the lines of one turn of the event loop are packed together. Never keeps the process alive. Throws
 * {@link HookTelemetryError} `OPTION` for a bad option, `CLOSED` when used after its disposal. @public
 */
export function createStatsdSink(options: StatsdSinkOptions = {}): StatsdSink {
  return new UdpSink(options);
}

class UdpSink implements StatsdSink {
  readonly #dialect: StatsdDialect;
  readonly #maxPacketBytes: number;
  readonly #maxQueue: number;
  readonly #onError: (error: Error) => void;
  readonly #socket: Socket;
  readonly #connected: Promise<void>;
  #queue: string[] = [];
  /** The sending of what is queued, or of what was. */
  #sending: Promise<void> | undefined;
  #dropped = 0;
  #closed = false;

  constructor(options: StatsdSinkOptions) {
    const { host = "127.0.0.1", port = 8125, dialect = "statsd", family = "udp4", onError = () => undefined } = options;
    const { maxPacketBytes = DEFAULT_MAX_PACKET_BYTES, maxQueue = DEFAULT_MAX_QUEUE } = options;
    if (!(Number.isInteger(port) && port > 0 && port < 65_536))
      throw new HookTelemetryError("OPTION", "port", port, "a port number");
    if (dialect !== "statsd" && dialect !== "dogstatsd")
      throw new HookTelemetryError("OPTION", "dialect", dialect, "statsd or dogstatsd");
    for (const [field, value] of Object.entries({ maxPacketBytes, maxQueue })) {
      if (!(value >= 1)) throw new HookTelemetryError("OPTION", field, value, "a number >= 1");
    }
    this.#dialect = dialect;
    this.#maxPacketBytes = maxPacketBytes;
    this.#maxQueue = maxQueue;
    this.#onError = onError;
    this.#socket = createSocket(family).unref();
    // Connected once, so that a host name is not looked up for each packet. Without a receiver the system says so by an error event.
    this.#connected = new Promise((resolve) => {
      this.#socket.on("error", (error) => {
        onError(error);
        resolve();
      });
      this.#socket.connect(port, host, () => resolve());
    });
  }

  get dropped(): number {
    return this.#dropped;
  }

  incrCounter(name: string, value: number, labels: Labels): void {
    this.#write("c", name, value, labels);
  }

  addSample(name: string, ms: number, labels: Labels): void {
    this.#write("ms", name, ms, labels);
  }

  setGauge(name: string, value: number, labels: Labels): void {
    this.#write("g", name, value, labels);
  }

  async flush(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#connected;
    await this.flush();
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }

  #write(type: StatsdType, name: string, value: number, labels: Labels): void {
    if (this.#closed) throw new HookTelemetryError("CLOSED", "sink", "a disposed one", "open");
    if (this.#queue.length >= this.#maxQueue) {
      this.#dropped++;
      return;
    }
    this.#queue.push(statsdLine(type, name, value, labels, this.#dialect));
    this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    await Promise.all([this.#connected, new Promise((resolve) => setImmediate(resolve))]);
    const lines = this.#queue;
    this.#queue = [];
    await Promise.all(packets(lines, this.#maxPacketBytes).map((packet) => this.#sendPacket(packet)));
    this.#sending = this.#queue.length > 0 ? this.#send() : undefined;
  }

  #sendPacket(lines: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      const done = (error: Error | null): void => {
        if (error !== null) {
          this.#dropped += lines.length;
          this.#onError(error);
        }
        resolve();
      };
      try {
        this.#socket.send(lines.join("\n"), done);
      } catch (error) {
        done(error as Error);
      }
    });
  }
}

/** Packs lines into datagrams of at most so many bytes. */
function packets(lines: readonly string[], maxBytes: number): string[][] {
  const all: string[][] = [];
  let bytes = Infinity;
  for (const line of lines) {
    const size = Buffer.byteLength(line) + 1;
    // The newline after the last line is not sent.
    if (bytes + size - 1 > maxBytes) {
      all.push([]);
      bytes = 0;
    }
    all.at(-1)?.push(line);
    bytes += size;
  }
  return all;
}
