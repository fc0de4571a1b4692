import { library } from "@outrider/build-config/tsup";

export default library({
  main: "src/main.ts",
  index: "src/index.ts",
  "driver-main": "src/driver/process-driver/driver-main.ts",
});
