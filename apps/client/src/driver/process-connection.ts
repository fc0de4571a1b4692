/** One connection to the driver process. */
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { DriverPlugin } from "@outrider/plugin-driver";
import { createDriverClient, type MessageCarrier } from "@outrider/plugin-driver/host";
import type { CollectedOutput } from "../logs/log-collector-client.ts";
import type { Hello } from "./process-driver/agent-services.ts";
import { FrameClient } from "./process-driver/rpc/frame-client.ts";

/** A socket on this machine answers at once or not at all. */
const CONNECT_MS = 2_000;
/** A driver process that does not answer its first question within this time is not one. */
const HELLO_MS = 5_000;
/** Making fifos and opening files may need a slow disk; more than this is a defect. */
const CALL_MS = 60_000;

/** Connected once; a lost connection stays lost, and every call on it rejects with `PluginShutdownError`. */
export class ProcessConnection {
  readonly #client: FrameClient;
  /** The built-in driver. */
  readonly driver: DriverPlugin;

  private constructor(client: FrameClient, o: { readonly clock: Clock; readonly logger: Logger }) {
    this.#client = client;
    this.driver = createDriverClient(carrierOf(client), o);
  }

  /** Connects, or resolves to `undefined` when nobody listens. */
  static async open(
    path: string,
    o: { readonly clock: Clock; readonly logger: Logger },
  ): Promise<ProcessConnection | undefined> {
    const client = await FrameClient.open(path, o.clock, CONNECT_MS);
    return client === undefined ? undefined : new ProcessConnection(client, o);
  }

  get isGone(): boolean {
    return this.#client.isGone;
  }

  /** Resolves when the connection is lost or closed. */
  get gone(): Promise<void> {
    return this.#client.gone;
  }

  /** The first question of every connection. */
  async hello(protocol: number, build: string, signal?: AbortSignal): Promise<Hello> {
    return (await this.#client.call("hello", [protocol, build], { signal, timeoutMs: HELLO_MS })) as Hello;
  }

  /** Asks the process to end; its tasks live on. */
  async quit(signal?: AbortSignal): Promise<void> {
    await this.#client.call("quit", [], { signal, timeoutMs: HELLO_MS });
  }

  async startLogs({ id, ...rest }: CollectedOutput, signal?: AbortSignal): Promise<void> {
    await this.#client.call("startLogs", [{ key: id, ...rest }], { signal, timeoutMs: CALL_MS });
  }

  async stopLogs(taskId: string, signal?: AbortSignal): Promise<void> {
    await this.#client.call("stopLogs", [taskId], { signal, timeoutMs: CALL_MS });
  }

  /** Idempotent. Calls made afterwards reject at once. */
  close(): void {
    this.#client.close();
  }
}

/** The driver's messages as the one value of a frame. */
function carrierOf(client: FrameClient): MessageCarrier {
  return {
    call: async (path, request, o) => (await client.call(path, [request], o)) as Uint8Array,
    stream: (path, request, signal, input) => client.stream<Uint8Array>(path, [request], signal, input),
  };
}
