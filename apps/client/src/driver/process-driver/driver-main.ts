/** Entry of the detached driver process: `driver-main --data-dir DIR [--build TEXT] [--log-level LEVEL]`. */
import { parseArgs } from "node:util";
import type { LogLevel } from "./driver-log.ts";
import { runDriver } from "./run-driver.ts";

const { values } = parseArgs({
  options: {
    "data-dir": { type: "string" },
    build: { type: "string", default: "unknown" },
    "log-level": { type: "string", default: "info" },
  },
});
const dataDir = values["data-dir"];
if (dataDir === undefined || !dataDir.startsWith("/")) {
  process.stderr.write("driver process: --data-dir needs an absolute path\n");
  process.exit(2);
}
await runDriver({
  dataDir,
  build: values.build ?? "unknown",
  logLevel: /^(trace|debug|info|warn|error)$/.test(values["log-level"] ?? "")
    ? (values["log-level"] as LogLevel)
    : "info",
});
