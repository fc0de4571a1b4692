import { library } from "@outrider/build-config/tsup";

export default library({
  index: "src/index.ts",
});
