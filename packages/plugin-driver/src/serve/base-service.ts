/** The base service: who the plugin is, and its agent-level configuration. */
import { create } from "@bufbuild/protobuf";
import type { DriverPlugin } from "../contract/driver.ts";
import * as pb from "../gen/base_pb.js";
import { fromNomadConfig, toPluginInfo } from "../wire/driver.ts";
import { toSpec } from "../wire/spec.ts";
import { type ServedMethods, unary } from "./handlers.ts";

/** The methods of the base service. */
export function baseMethods(driver: DriverPlugin): ServedMethods {
  return {
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
}
