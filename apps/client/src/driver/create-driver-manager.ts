/** The driver manager of the agent: the built-in driver with its process, and external plugins. */
import { type Clock, systemClock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { join } from "node:path";
import type { LogCollectorClient } from "../logs/log-collector-client.ts";
import { BuiltinSource, createLogCollectorClient } from "./builtin-source.ts";
import { createManagerOf } from "./driver-catalogue.ts";
import type { DriverManager } from "./driver-manager.ts";
import { type DriverCommand, DriverProcessHost } from "./driver-process.ts";
import { type ExternalPlugin, externalSources } from "./external-source.ts";

/** Options of {@link createDriverManager}. */
export interface DriverManagerOptions {
  /** The agent's data folder; the driver process keeps its state in `driver/` below it. */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
  /** How to run the driver process. */
  readonly driverCommand: DriverCommand;
  /** Names this build to the driver process. */
  readonly build?: string | undefined;
  /** Level of `driver/driver.log`. */
  readonly driverLogLevel?: string | undefined;
  /** Folder of external driver plugins; only those named in `plugins` are ever run. */
  readonly pluginDir?: string | undefined;
  readonly plugins?: readonly ExternalPlugin[] | undefined;
}

/** A driver manager with the log collector that lives in the built-in driver's process. */
export interface ClientDrivers extends DriverManager {
  readonly logCollector: LogCollectorClient;
}

/** Makes the manager. Nothing is started before `start` or `dispense`. An orderly end leaves all tasks running, and
 * the driver process as long as there are any. */
export function createDriverManager(options: DriverManagerOptions): ClientDrivers {
  const {
    dataDir,
    logger,
    clock = systemClock,
    random,
    driverCommand,
    build = "dev",
    driverLogLevel,
    pluginDir,
    plugins,
  } = options;
  const process = new DriverProcessHost({
    dataDir,
    command: driverCommand,
    build,
    logLevel: driverLogLevel,
    clock,
    logger,
  });
  const builtin = new BuiltinSource(process);
  const stateDir = join(dataDir, "driver", "plugins");
  const external =
    pluginDir === undefined ? [] : externalSources(plugins ?? [], { pluginDir, stateDir, clock, logger });
  const manager = createManagerOf({ sources: [builtin, ...external], clock, logger, random });
  const closing = new AbortController();
  const dispense = (signal: AbortSignal, newerThan: number) => manager.dispense(builtin.name, { signal, newerThan });
  return {
    logCollector: createLogCollectorClient(builtin, dispense, closing.signal, clock),
    get names() {
      return manager.names;
    },
    start: (signal) => manager.start(signal),
    dispense: (name, o) => manager.dispense(name, o),
    onChange: (listener) => manager.onChange(listener),
    onTaskEvent: (listener) => manager.onTaskEvent(listener),
    async [Symbol.asyncDispose]() {
      closing.abort(new Error("driver manager is closed"));
      await manager[Symbol.asyncDispose]();
      process.endIfIdle();
      process.close();
    },
  };
}
