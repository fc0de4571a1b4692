import { systemClock, type Clock } from "@outrider/backoff";
import { noopLogger, type Logger } from "@outrider/foundation";
import type { DriverPlugin } from "../contract/driver.ts";
import { PLUGIN_VARIABLES } from "../protocol/plugin-env.ts";

/** What the services need beside the driver. */
export interface ServiceContext {
  readonly driver: DriverPlugin;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Variables that are taken out of every task's environment. */
  readonly cleanEnv: readonly string[];
  /** Opens the task's output fifos around `startTask`. */
  readonly guardFifos: boolean;
  /** The handle of a start repeats the config that was sent. */
  readonly repeatConfig: boolean;
}

/** With the defaults. */
export function serviceContext(
  driver: DriverPlugin,
  o: {
    readonly logger?: Logger;
    readonly clock?: Clock;
    readonly guardFifos?: boolean;
    readonly repeatConfig?: boolean;
  },
): ServiceContext {
  const { logger = noopLogger, clock = systemClock, guardFifos = true, repeatConfig = true } = o;
  return { driver, logger, clock, cleanEnv: PLUGIN_VARIABLES, guardFifos, repeatConfig };
}
