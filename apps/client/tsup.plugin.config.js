import { pluginExecutable } from "@outrider/build-config/plugin-executable";

// The process driver for agents of others, as one file: dist-plugin/outrider-driver-process.
export default pluginExecutable("outrider-driver-process", "src/driver/process-driver/stock-main.ts", {
  outDir: "dist-plugin",
});
