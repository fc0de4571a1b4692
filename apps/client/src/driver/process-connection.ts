/** One connection to the driver process's own services. */
import { Client, connectivityState, credentials, type ServiceError, status } from "@grpc/grpc-js";
import type { Clock } from "@outrider/backoff";
import { OutriderError } from "@outrider/foundation";
import { PluginShutdownError } from "@outrider/plugin-driver";
import { DriverProcess, type HelloResponse, LogCollector } from "../logs/gen/driver_process_pb.js";
import { callUnary } from "../logs/grpc-glue.ts";
import type { CollectedOutput } from "../logs/log-collector-client.ts";

/** A socket on this machine answers at once or not at all. */
const CONNECT_MS = 2_000;
/** A driver process that does not answer its first question within this time is not one. */
const HELLO_MS = 5_000;
/** Making fifos and opening files may need a slow disk; more than this is a defect. */
const CALL_MS = 60_000;

/** Connected once; a lost connection stays lost. */
export class ProcessConnection {
  readonly #client: Client;
  readonly #clock: Clock;
  #isGone = false;
  #resolveGone: () => void = () => undefined;
  readonly gone: Promise<void>;

  private constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.gone = new Promise((resolve) => (this.#resolveGone = resolve));
  }

  /** Connects, or resolves to `undefined` when nobody listens. */
  static async open(path: string, clock: Clock): Promise<ProcessConnection | undefined> {
    const client = new Client(`unix:${path}`, credentials.createInsecure(), {
      "grpc.default_authority": "localhost",
      "grpc.enable_retries": 0,
      "grpc.enable_channelz": 0,
      "grpc.service_config_disable_resolution": 1,
      "grpc.use_local_subchannel_pool": 1,
      "grpc.client_idle_timeout_ms": 2_147_483_647,
    });
    const connection = new ProcessConnection(client, clock);
    if (await connection.#connect()) return connection;
    connection.close();
    return undefined;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** The first question of every connection. */
  hello(protocol: number, build: string, signal?: AbortSignal): Promise<HelloResponse> {
    return this.#call(() =>
      callUnary(
        this.#client,
        DriverProcess.method.hello,
        { protocol, build },
        { signal, deadlineMs: HELLO_MS, now: this.#clock.now() },
      ),
    );
  }

  /** Asks the process to end; its tasks live on. */
  async quit(signal?: AbortSignal): Promise<void> {
    await this.#call(() =>
      callUnary(this.#client, DriverProcess.method.quit, {}, { signal, deadlineMs: HELLO_MS, now: this.#clock.now() }),
    );
  }

  async startLogs(output: CollectedOutput, signal?: AbortSignal): Promise<void> {
    const { id, ...rest } = output;
    const options = { signal, deadlineMs: CALL_MS, now: this.#clock.now() };
    await this.#call(() => callUnary(this.#client, LogCollector.method.start, { taskId: id, ...rest }, options));
  }

  async stopLogs(taskId: string, signal?: AbortSignal): Promise<void> {
    const options = { signal, deadlineMs: CALL_MS, now: this.#clock.now() };
    await this.#call(() => callUnary(this.#client, LogCollector.method.stop, { taskId }, options));
  }

  /** Idempotent. Calls made afterwards reject at once. */
  close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#client.close();
    this.#resolveGone();
  }

  async #call<T>(run: () => Promise<T>): Promise<T> {
    if (this.#isGone) throw new PluginShutdownError();
    const lost = this.gone.then(() => Promise.reject(new PluginShutdownError()));
    lost.catch(() => undefined);
    try {
      return await Promise.race([run(), lost]);
    } catch (reason) {
      throw mapped(reason, this.#isGone);
    }
  }

  #connect(): Promise<boolean> {
    const channel = this.#client.getChannel();
    return new Promise((resolve) => {
      const timer = this.#clock.setTimeout(() => settle(false), CONNECT_MS);
      const settle = (connected: boolean): void => {
        this.#clock.clearTimeout(timer);
        resolve(connected);
      };
      const look = (): void => {
        const state = channel.getConnectivityState(true);
        if (state === connectivityState.READY) {
          channel.watchConnectivityState(connectivityState.READY, Infinity, () => this.close());
          settle(true);
        } else if (state === connectivityState.TRANSIENT_FAILURE || state === connectivityState.SHUTDOWN) {
          settle(false);
        } else {
          channel.watchConnectivityState(state, Infinity, look);
        }
      };
      look();
    });
  }
}

function mapped(reason: unknown, gone: boolean): unknown {
  const { code, details, metadata } = reason as Partial<ServiceError>;
  if (typeof code !== "number") return reason;
  if (gone || code === status.UNAVAILABLE) return new PluginShutdownError({ cause: reason });
  const own = metadata?.get("outrider-code")[0];
  return new OutriderError(typeof own === "string" ? own : "ERR_OUTRIDER_DRIVER_PROCESS", details ?? String(reason), {
    cause: reason,
  });
}
