/** StartTask as a stock agent needs it: a complete handle or a failure, and never a fifo left unopened. */
import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { StartedTask, TaskConfig } from "../contract/driver.ts";
import { RecoverableError } from "../contract/errors.ts";
import type { ServiceContext } from "./service-context.ts";

/**
 * Opens the write end of a fifo that has a reader. A start that fails before anybody opened it makes a stock agent wait 4 s
 * for the reader. Non-blocking, so that a fifo without a reader fails at once instead of occupying a thread.
 */
async function openFifo(path: string): Promise<FileHandle | undefined> {
  if (path === "" || path === "/dev/null") return undefined;
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return undefined; // no fifo, no reader, or not ours: the driver will say what it cannot do without
  }
  if ((await handle.stat()).isFIFO()) return handle;
  await handle.close();
  return undefined;
}

/** Runs the driver's `startTask`; a start without a usable handle is undone and fails. */
export async function startWithHandle(
  context: ServiceContext,
  config: TaskConfig,
  signal: AbortSignal,
): Promise<StartedTask> {
  const { driver, logger } = context;
  const fifos = context.guardFifos ? await Promise.all([openFifo(config.stdoutPath), openFifo(config.stderrPath)]) : [];
  try {
    const started = (await driver.startTask(config, signal)) as StartedTask | undefined;
    const wrong = wrongHandle(started);
    if (started !== undefined && wrong === undefined) {
      // The config that came is the config that goes back, whatever the driver kept of it.
      return { ...started, handle: { ...started.handle, config } };
    }
    logger.error({ taskId: config.id }, `driver returned no usable handle: ${wrong ?? "nothing"}`);
    try {
      await driver.destroyTask(config.id, true, signal);
    } catch (reason) {
      logger.warn({ err: reason, taskId: config.id }, "could not undo a start without a handle");
    }
    throw new RecoverableError(`start task: driver returned no usable handle (${wrong ?? "nothing"})`, false);
  } finally {
    for (const fifo of fifos) await fifo?.close();
  }
}

function wrongHandle(started: StartedTask | undefined): string | undefined {
  const handle = started?.handle as Partial<StartedTask["handle"]> | undefined;
  if (handle === undefined || handle === null) return "no handle";
  if (!Number.isInteger(handle.version) || Number(handle.version) < 1) return `version ${String(handle.version)}`;
  if (!(handle.driverState instanceof Uint8Array)) return "driverState is no bytes";
  return undefined;
}
