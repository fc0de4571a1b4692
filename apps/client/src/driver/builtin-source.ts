/** The built-in driver and the log collector, both in the detached driver process. */
import { type Clock, sleep } from "@outrider/backoff";
import { isPluginShutdown } from "@outrider/plugin-driver";
import type { CollectedOutput, LogCollectorClient } from "../logs/log-collector-client.ts";
import type { DriverInstance } from "./driver-manager.ts";
import type { DriverProcessHost } from "./driver-process.ts";
import type { DriverSource, OpenedDriver } from "./driver-source.ts";
import type { ProcessConnection } from "./process-connection.ts";

/** Name of the built-in driver. */
export const BUILTIN_DRIVER = "raw_exec";
/** Attempts of a call to the collector, each with a newer process: many, since a driver that dies while it starts is no reason to fail a task. */
const LOG_ATTEMPTS = 100;

/** Opens the driver process; every instance carries its connection to the collector. */
export class BuiltinSource implements DriverSource {
  readonly name = BUILTIN_DRIVER;
  readonly #process: DriverProcessHost;
  #connection: ProcessConnection | undefined;

  constructor(process: DriverProcessHost) {
    this.#process = process;
  }

  /** The connection of the latest instance. */
  get connection(): ProcessConnection | undefined {
    return this.#connection;
  }

  async open(signal: AbortSignal): Promise<OpenedDriver> {
    const connection = await this.#process.connect(signal);
    this.#connection = connection;
    const close = async (): Promise<void> => connection.close();
    return { plugin: connection.driver, gone: connection.gone, close };
  }
}

/** The collector behind whatever driver process lives now: a call that meets its end is repeated with the next one. */
export function createLogCollectorClient(
  source: BuiltinSource,
  dispense: (signal: AbortSignal, newerThan: number) => Promise<DriverInstance>,
  closing: AbortSignal,
  clock: Clock,
): LogCollectorClient {
  const call = async (run: (connection: ProcessConnection) => Promise<void>, signal?: AbortSignal): Promise<void> => {
    const stop = signal === undefined ? closing : AbortSignal.any([signal, closing]);
    let generation = 0;
    for (let attempt = 1; ; attempt++) {
      try {
        generation = (await dispense(stop, generation)).generation;
        const { connection } = source;
        if (connection !== undefined) return await run(connection);
      } catch (reason) {
        const again = isPluginShutdown(reason) || (reason as { recoverable?: boolean }).recoverable === true;
        if (attempt >= LOG_ATTEMPTS || !again || stop.aborted) throw reason;
        await sleep(50, { clock, signal: stop });
      }
    }
  };
  return {
    start: (output: CollectedOutput, signal) => call((connection) => connection.startLogs(output, signal), signal),
    stop: (id: string, signal) => call((connection) => connection.stopLogs(id, signal), signal),
  };
}
