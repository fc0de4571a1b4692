import { library } from "@outrider/build-config/tsup";

export default library({
  index: "src/index.ts",
  local: "src/local/index.ts",
  logs: "src/logs/index.ts",
  memory: "src/memory/index.ts",
  mounts: "src/mounts/index.ts",
  conformance: "src/conformance/index.ts",
  migrate: "src/migrate/index.ts",
  // Not a sub-path: the thread that makes snapshots.
  "snapshot-worker": "src/migrate/snapshot-worker.ts",
});
