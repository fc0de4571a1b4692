import { library } from "@outrider/build-config/tsup";

export default [
  library({ main: "src/main.ts", index: "src/index.ts" }, { clean: ["!**/driver-main.js"] }),
  // One file with what it uses and nothing else: this process lives as long as any task, and every module costs memory.
  library(
    { "driver-main": "src/driver/process-driver/driver-main.ts" },
    { clean: false, dts: false, splitting: false, noExternal: [/^@outrider\//, "@msgpack/msgpack"] },
  ),
];
