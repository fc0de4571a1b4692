/** The driver contract by names and plain values. */
import type { DriverPlugin, ExecInput, ExecRequest, TaskConfig, TaskHandle } from "@outrider/plugin-driver";
import type { CallHandler, FrameHandlers, StreamHandler } from "./frame-server.ts";

/** What the driver process serves of its driver. Networks, the agent's configuration and the shutdown notice have no use here. */
export function driverHandlers(
  driver: DriverPlugin & Required<Pick<DriverPlugin, "execTaskStreaming">>,
): FrameHandlers {
  const calls: Record<string, CallHandler> = {
    info: (_args, signal) => driver.info(signal),
    configSchema: (_args, signal) => driver.configSchema(signal),
    taskConfigSchema: (_args, signal) => driver.taskConfigSchema(signal),
    capabilities: (_args, signal) => driver.capabilities(signal),
    recoverTask: ([handle], signal) => driver.recoverTask(handle as TaskHandle, signal),
    startTask: async ([config], signal) => {
      const { handle, network } = await driver.startTask(config as TaskConfig, signal);
      // the agent has the configuration
      return { version: handle.version, state: handle.state, driverState: handle.driverState, network };
    },
    waitTask: ([id], signal) => driver.waitTask(id as string, signal),
    stopTask: ([id, timeoutMs, name], signal) =>
      driver.stopTask(id as string, timeoutMs as number, name as string, signal),
    destroyTask: ([id, force], signal) => driver.destroyTask(id as string, force as boolean, signal),
    inspectTask: ([id], signal) => driver.inspectTask(id as string, signal),
    signalTask: ([id, name], signal) => driver.signalTask(id as string, name as string, signal),
    execTask: ([id, command, timeoutMs], signal) =>
      driver.execTask(id as string, command as string[], timeoutMs as number, signal),
  };
  const streams: Record<string, StreamHandler> = {
    fingerprint: (_args, signal) => driver.fingerprint(signal),
    taskStats: ([id, intervalMs], signal) => driver.taskStats(id as string, intervalMs as number, signal),
    taskEvents: (_args, signal) => driver.taskEvents(signal),
    execTaskStreaming: ([id, request], signal, input) =>
      driver.execTaskStreaming(id as string, request as ExecRequest, input as AsyncIterable<ExecInput>, signal),
  };
  return { calls, streams };
}
