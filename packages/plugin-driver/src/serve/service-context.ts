import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { DriverPlugin } from "../contract/driver.ts";

/** What the services need beside the driver. */
export interface ServiceContext {
  readonly driver: DriverPlugin;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Variables that are taken out of every task's environment. */
  readonly cleanEnv: readonly string[];
  /** Opens the task's output fifos around `startTask`. */
  readonly guardFifos: boolean;
}
