/** The base service: who the plugin is, and its agent-level configuration. */
import { create } from "@bufbuild/protobuf";
import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import type { DriverPlugin } from "../contract/driver.ts";
import * as pb from "../gen/base_pb.js";
import { fromNomadConfig, toPluginInfo } from "../wire/driver.ts";
import { serviceDefinition } from "../wire/methods.ts";
import { toSpec } from "../wire/spec.ts";
import { unary } from "./handlers.ts";

/** The definition and the handlers of the base service. */
export function baseService(driver: DriverPlugin): [ServiceDefinition, UntypedServiceImplementation] {
  const handlers = {
    pluginInfo: unary(async (_: pb.PluginInfoRequest, signal) => toPluginInfo(await driver.info(signal))),
    configSchema: unary(async (_: pb.ConfigSchemaRequest, signal) => {
      const spec = await driver.configSchema(signal);
      return create(pb.ConfigSchemaResponseSchema, spec === undefined ? {} : { spec: toSpec(spec) });
    }),
    setConfig: unary(async (request: pb.SetConfigRequest, signal) => {
      await driver.setConfig(request.msgpackConfig, fromNomadConfig(request.nomadConfig), signal);
      return create(pb.SetConfigResponseSchema);
    }),
  };
  return [serviceDefinition(pb.BasePlugin), handlers as unknown as UntypedServiceImplementation];
}
