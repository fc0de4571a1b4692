/** RecoverTask as a stock agent needs it: after a failure nothing of the task may still run. */
import type { TaskHandle } from "../contract/driver.ts";
import type { ServiceContext } from "./service-context.ts";

/**
 * Runs the driver's `recoverTask`. When it fails, what the handle points to is ended first: the agent starts a second copy next,
 * and its DestroyTask cannot reach a task that the driver does not know.
 */
export async function recoverOrKill(context: ServiceContext, handle: TaskHandle, signal: AbortSignal): Promise<void> {
  const { driver, logger } = context;
  try {
    await driver.recoverTask(handle, signal);
  } catch (reason) {
    try {
      await driver.killLeftovers?.(handle);
    } catch (failure) {
      logger.error({ err: failure, taskId: handle.config.id }, "could not end the processes of an unrecoverable task");
    }
    throw reason;
  }
}
