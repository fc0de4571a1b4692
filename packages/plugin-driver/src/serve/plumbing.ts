/** The services that go-plugin expects of every plugin beside its own. */
import { create } from "@bufbuild/protobuf";
import { type Server, status } from "@grpc/grpc-js";
import { EmptySchema, GRPCBroker, GRPCController, GRPCStdio } from "../gen/go_plugin_pb.js";
import { Health, HealthCheckResponseSchema, HealthCheckResponse_ServingStatus as Serving } from "../gen/health_pb.js";
import type { HealthCheckRequest } from "../gen/health_pb.js";
import { StatusError } from "../wire/status.ts";
import { addService } from "./grpc-handlers.ts";
import { bidiStream, serverStream, unary } from "./handlers.ts";
import { untilAborted } from "./until-aborted.ts";

const SERVED = new Set(["", "plugin"]);

/** @param onShutdown called after the host's Shutdown has been answered */
export function addPlumbing(server: Server, onShutdown: () => void): void {
  const serving = create(HealthCheckResponseSchema, { status: Serving.SERVING });
  addService(server, Health, {
    check: unary((request: HealthCheckRequest) =>
      SERVED.has(request.service)
        ? Promise.resolve(serving)
        : Promise.reject(new StatusError(status.NOT_FOUND, "unknown service")),
    ),
    watch: serverStream(async (request: HealthCheckRequest, write, signal) => {
      await write(
        SERVED.has(request.service) ? serving : create(HealthCheckResponseSchema, { status: Serving.SERVICE_UNKNOWN }),
      );
      await untilAborted(signal);
    }),
  });
  addService(server, GRPCController, {
    shutdown: unary(() => {
      // After this turn, so that the answer is on its way before the server closes.
      setImmediate(onShutdown);
      return Promise.resolve(create(EmptySchema));
    }),
  });
  // Hosts discard what comes here; an open silent stream tells them that we live.
  addService(server, GRPCStdio, {
    streamStdio: serverStream((_request, _write, signal) => untilAborted(signal)),
  });
  addService(server, GRPCBroker, {
    // Drivers never use the broker: read, ignore, end when the host ends.
    startStream: bidiStream(async (requests) => {
      for await (const _ of requests);
    }),
  });
}
