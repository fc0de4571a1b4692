import { library } from "@outrider/build-config/tsup";

export default library({
  index: "src/index.ts",
  "prom-client": "src/prom-client/index.ts",
  opentelemetry: "src/opentelemetry/index.ts",
  statsd: "src/statsd/index.ts",
});
