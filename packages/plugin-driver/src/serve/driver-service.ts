/** The driver service: the contract on one side, Nomad's messages on the other. */
import { create } from "@bufbuild/protobuf";
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { TaskResourceUsage } from "@outrider/nomad-structs";
import { isOutriderError } from "@outrider/foundation";
import type { Fingerprint } from "../contract/driver.ts";
import { NotImplementedError, PluginProtocolError, RecoverableError } from "../contract/errors.ts";
import * as pb from "../gen/driver_pb.js";
import { toCapabilities, toFingerprint, toTaskEvent } from "../wire/driver.ts";
import { fromDuration } from "../wire/scalars.ts";
import { toSpec } from "../wire/spec.ts";
import {
  fromNetworkSpec,
  fromTaskConfig,
  fromTaskHandle,
  toExitResult,
  toInspectResponse,
  toNetworkOverride,
  toNetworkSpec,
  toTaskHandle,
} from "../wire/task.ts";
import { toTaskStats } from "../wire/usage.ts";
import { runExec } from "./exec-stream.ts";
import { bidiStream, type ServedMethods, serverStream, unary } from "./handlers.ts";
import { holdOpen } from "./hold-open.ts";
import { startWithHandle } from "./start-task.ts";
import { recoverOrKill } from "./recover-task.ts";
import type { ServiceContext } from "./service-context.ts";
import { untilAborted } from "./until-aborted.ts";

/** A fingerprint that ended normally is asked again after Nomad's customary period. */
const FINGERPRINT_PERIOD_MS = 30_000;
const EVENTS_REOPEN_MS = 5_000;
/** The agent gives Shutdown 2 s. */
const SHUTDOWN_LIMIT_MS = 1_500;

/** The methods of the driver service. */
export function driverMethods(context: ServiceContext): ServedMethods {
  const { driver, logger, clock } = context;
  return {
    init: unary(async (_: pb.InitRequest, signal) => {
      await driver.init?.(signal);
      return create(pb.InitResponseSchema);
    }),
    taskConfigSchema: unary(async (_: pb.TaskConfigSchemaRequest, signal) =>
      create(pb.TaskConfigSchemaResponseSchema, { spec: toSpec(await driver.taskConfigSchema(signal)) }),
    ),
    capabilities: unary(async (_: pb.CapabilitiesRequest, signal) =>
      create(pb.CapabilitiesResponseSchema, { capabilities: toCapabilities(await driver.capabilities(signal)) }),
    ),
    fingerprint: serverStream((_: pb.FingerprintRequest, write: (m: pb.FingerprintResponse) => Promise<void>, signal) =>
      holdOpen<Fingerprint>({
        open: (s) => driver.fingerprint(s),
        write: (item) => write(toFingerprint(item)),
        onFailure: (reason) => {
          const error = reason instanceof Error ? reason.message : String(reason);
          logger.warn({ err: reason }, "fingerprint failed");
          return write(toFingerprint({ attributes: {}, health: "unhealthy", healthDescription: error, error }));
        },
        reopenMs: FINGERPRINT_PERIOD_MS,
        signal,
        clock,
      }),
    ),
    recoverTask: unary(async (request: pb.RecoverTaskRequest, signal) => {
      const handle = fromTaskHandle(request.handle, context.cleanEnv);
      if (handle === undefined) throw new PluginProtocolError("recover task: handle without config");
      await recoverOrKill(context, handle, signal);
      return create(pb.RecoverTaskResponseSchema);
    }),
    startTask: unary(async (request: pb.StartTaskRequest, signal) => {
      if (request.task === undefined) throw new RecoverableError("start task: request without a task", false);
      const config = fromTaskConfig(request.task, context.cleanEnv);
      const { handle, network } = await startWithHandle(context, config, signal);
      return create(pb.StartTaskResponseSchema, {
        handle: toTaskHandle(handle, context.repeatConfig),
        ...(network === undefined ? {} : { networkOverride: toNetworkOverride(network) }),
      });
    }, true),
    waitTask: unary(async (request: pb.WaitTaskRequest, signal) => {
      const result = await driver.waitTask(request.taskId, signal);
      return create(pb.WaitTaskResponseSchema, { result: toExitResult(result), err: result.error ?? "" });
    }),
    stopTask: unary(async (request: pb.StopTaskRequest, signal) => {
      await driver.stopTask(request.taskId, fromDuration(request.timeout), request.signal, signal);
      return create(pb.StopTaskResponseSchema);
    }),
    destroyTask: unary(async (request: pb.DestroyTaskRequest, signal) => {
      await driver.destroyTask(request.taskId, request.force, signal);
      return create(pb.DestroyTaskResponseSchema);
    }),
    inspectTask: unary(async (request: pb.InspectTaskRequest, signal) =>
      toInspectResponse(await driver.inspectTask(request.taskId, signal)),
    ),
    taskStats: serverStream(
      async (request: pb.TaskStatsRequest, write: (m: pb.TaskStatsResponse) => Promise<void>, signal) => {
        const { taskId } = request;
        const intervalMs = fromDuration(request.collectionInterval) || 1_000;
        const relay = async (samples: AsyncIterable<TaskResourceUsage>): Promise<void> => {
          for await (const sample of samples) {
            const stats = toTaskStats(taskId, sample, clock.now());
            await write(create(pb.TaskStatsResponseSchema, { stats }));
            if (signal.aborted) return;
          }
        };
        try {
          await relay(driver.taskStats(taskId, intervalMs, signal));
        } catch (reason) {
          // An error would cost the agent an error line per interval for ever; a silent open stream costs nothing.
          if (!isOutriderError(reason, "ERR_OUTRIDER_PLUGIN_STATS_NOT_IMPLEMENTED")) throw reason;
          await untilAborted(signal);
        }
      },
      true,
    ),
    taskEvents: serverStream((_: pb.TaskEventsRequest, write: (m: pb.DriverTaskEvent) => Promise<void>, signal) =>
      holdOpen({
        open: (s) => driver.taskEvents(s),
        write: (event) => write(toTaskEvent(event)),
        onFailure: (reason) => {
          logger.warn({ err: reason }, "task events failed");
          return Promise.resolve();
        },
        reopenMs: EVENTS_REOPEN_MS,
        signal,
        clock,
      }),
    ),
    signalTask: unary(async (request: pb.SignalTaskRequest, signal) => {
      await driver.signalTask(request.taskId, request.signal, signal);
      return create(pb.SignalTaskResponseSchema);
    }),
    execTask: unary(async (request: pb.ExecTaskRequest, signal) => {
      if (request.command.length === 0) throw new PluginProtocolError("exec task: empty command");
      const timeoutMs = fromDuration(request.timeout);
      const { stdout, stderr, exitResult } = await driver.execTask(request.taskId, request.command, timeoutMs, signal);
      return create(pb.ExecTaskResponseSchema, { stdout, stderr, result: toExitResult(exitResult) });
    }),
    execTaskStreaming: bidiStream<pb.ExecTaskStreamingRequest, pb.ExecTaskStreamingResponse>(
      (requests, write, signal) => runExec(driver, requests, write, signal),
    ),
    createNetwork: unary(async (request: pb.CreateNetworkRequest, signal) => {
      if (driver.createNetwork === undefined) throw new NotImplementedError("CreateNetwork");
      const { spec, created } = await driver.createNetwork(request.allocId, request.hostname, signal);
      return create(pb.CreateNetworkResponseSchema, { isolationSpec: toNetworkSpec(spec), created });
    }),
    destroyNetwork: unary(async (request: pb.DestroyNetworkRequest, signal) => {
      if (driver.destroyNetwork === undefined) throw new NotImplementedError("DestroyNetwork");
      if (request.isolationSpec === undefined) throw new PluginProtocolError("destroy network: no isolation spec");
      await driver.destroyNetwork(request.allocId, fromNetworkSpec(request.isolationSpec), signal);
      return create(pb.DestroyNetworkResponseSchema);
    }),
    shutdown: unary(async (_: pb.ShutdownRequest, signal) => {
      await withLimit(driver.shutdown?.(signal), SHUTDOWN_LIMIT_MS, clock, logger);
      return create(pb.ShutdownResponseSchema);
    }),
  };
}

/** Waits for the driver, but never longer than the agent would: an unanswered shutdown hangs a stock agent. */
async function withLimit(work: Promise<void> | undefined, ms: number, clock: Clock, logger: Logger): Promise<void> {
  if (work === undefined) return;
  let timer: unknown;
  const limit = new Promise<void>((resolve) => {
    timer = clock.setTimeout(() => {
      logger.warn({ timeoutMs: ms }, "driver shutdown is slow, answering without it");
      resolve();
    }, ms);
  });
  const done = work.catch((reason: unknown) => logger.warn({ err: reason }, "driver shutdown failed"));
  await Promise.race([done, limit]);
  clock.clearTimeout(timer);
}
