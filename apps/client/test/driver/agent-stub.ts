/** What an agent does with a task when driver processes come and go: repeat each call with the next one. */
import { type ExitResult, isPluginShutdown, type DriverPlugin, type TaskHandle } from "@outrider/plugin-driver";
import type { ClientDrivers } from "../../src/driver/create-driver-manager.ts";

/** Runs a call against whatever driver lives, again and again until it was answered. */
export async function persist<T>(
  drivers: () => ClientDrivers,
  run: (driver: DriverPlugin) => Promise<T>,
  recover?: TaskHandle,
  signal: AbortSignal = AbortSignal.timeout(60_000),
): Promise<T> {
  let newerThan = 0;
  let manager = drivers();
  for (;;) {
    try {
      // generations count within one agent's life
      if (manager !== drivers()) newerThan = 0;
      manager = drivers();
      const instance = await manager.dispense("raw_exec", { signal, newerThan });
      newerThan = 0;
      try {
        if (recover !== undefined) await instance.plugin.recoverTask(recover, signal);
        return await run(instance.plugin);
      } catch (reason) {
        if (isPluginShutdown(reason)) newerThan = instance.generation;
        throw reason;
      }
    } catch (reason) {
      signal.throwIfAborted();
      const again =
        isPluginShutdown(reason) ||
        (reason as { code?: string }).code === "ERR_OUTRIDER_PLUGIN_START" ||
        (reason as { code?: string }).code === "ERR_OUTRIDER_DRIVER_START";
      if (!again && !/driver manager is closed/.test(String(reason))) throw reason;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** The result of a task, however often its driver dies meanwhile. */
export function persistentWait(drivers: () => ClientDrivers, handle: TaskHandle): Promise<ExitResult> {
  return persist(drivers, (driver) => driver.waitTask(handle.config.id), handle);
}
