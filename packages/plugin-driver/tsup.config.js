import { library } from "@outrider/build-config/tsup";

export default library({
  index: "src/index.ts",
  serve: "src/serve/index.ts",
  host: "src/host/index.ts",
  testing: "src/testing/index.ts",
});
