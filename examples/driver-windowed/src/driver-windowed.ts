/** The executable: `driver = "windowed"`. */
import { serve } from "@outrider/plugin-driver/serve";
import { createWindowedDriver } from "./create-driver.ts";
import type { PluginLogger } from "./inner-drivers.ts";

let logger: PluginLogger | undefined;
void serve(createWindowedDriver({ logger: () => logger }), {
  module: "windowed",
  onLogger: (given) => (logger = given),
});
