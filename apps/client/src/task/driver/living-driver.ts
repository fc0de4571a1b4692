import { type Clock, sleep } from "@outrider/backoff";
import { isOutriderError } from "@outrider/foundation";
import { isPluginShutdown } from "@outrider/plugin-driver";
import type { DriverInstance, DriverManager } from "../../driver/driver-manager.ts";

/** Least time between two questions; the manager spaces out its own attempts to start a driver. */
const AGAIN_MS = 50;
const START_CODES: ReadonlySet<string> = new Set(["ERR_OUTRIDER_DRIVER_START", "ERR_OUTRIDER_PLUGIN_START"]);

/** Whether a driver that could not be reached may well be reached by the next attempt: somebody killed it while it started, for instance. */
export function passes(reason: unknown): boolean {
  if (isPluginShutdown(reason)) return true;
  return isOutriderError(reason) && reason.recoverable && START_CODES.has(reason.code);
}

/** How to ask for a driver. */
export interface LivingDriverOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Only an instance of a later generation. */
  readonly newerThan?: number;
  /** Attempts before the last failure is given on; default: no limit, since a task lives on without its driver. */
  readonly attempts?: number;
}

/** A living instance of a driver, however often it dies while it starts. Rejects with what will not pass, or with the signal's reason. */
export async function livingDriver(
  drivers: Pick<DriverManager, "dispense">,
  name: string,
  { signal, clock, newerThan = 0, attempts = Infinity }: LivingDriverOptions,
): Promise<DriverInstance> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await drivers.dispense(name, { signal, newerThan });
    } catch (reason) {
      signal.throwIfAborted();
      if (!passes(reason) || attempt >= attempts) throw reason;
      await sleep(AGAIN_MS, { clock, signal });
    }
  }
}
