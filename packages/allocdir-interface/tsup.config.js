import { library } from "@outrider/build-config/tsup";

export default library({
  index: "src/index.ts",
  local: "src/local/index.ts",
  logs: "src/logs/index.ts",
});
