/** The driver process's services beside the driver itself: log collection, and the talk about versions and leaving. */
import { create } from "@bufbuild/protobuf";
import type { Server } from "@grpc/grpc-js";
import {
  DriverProcess,
  HelloResponseSchema,
  LogCollector,
  QuitResponseSchema,
  type StartRequest,
  StartResponseSchema,
  type StopRequest,
  StopResponseSchema,
} from "../../logs/gen/driver_process_pb.js";
import { answer, definitionOf } from "../../logs/grpc-glue.ts";
import { readProcStat, UNKNOWN_START } from "./identity.ts";
import type { LogRegistry } from "./log-registry.ts";
import { PROCESS_PROTOCOL } from "./process-protocol.ts";

/** Adds the services to a server. */
export function addAgentServices(server: Server, registry: LogRegistry, build: string, quit: () => void): void {
  server.addService(definitionOf(LogCollector), {
    start: answer(async (request: StartRequest) => {
      await registry.start({
        key: request.taskId,
        logDir: request.logDir,
        taskName: request.taskName,
        stdoutFifo: request.stdoutFifo,
        stderrFifo: request.stderrFifo,
        maxFiles: request.maxFiles,
        maxFileSizeMb: request.maxFileSizeMb,
      });
      return create(StartResponseSchema);
    }),
    stop: answer(async (request: StopRequest) => {
      await registry.stop(request.taskId);
      return create(StopResponseSchema);
    }),
  });
  const startTime = readProcStat(process.pid)?.startTime ?? UNKNOWN_START;
  server.addService(definitionOf(DriverProcess), {
    hello: answer(async () =>
      create(HelloResponseSchema, { protocol: PROCESS_PROTOCOL, build, pid: process.pid, startTime }),
    ),
    quit: answer(async () => {
      // after this turn, so that the answer is on its way
      setImmediate(quit);
      return create(QuitResponseSchema);
    }),
  });
}
