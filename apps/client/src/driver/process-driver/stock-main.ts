/** Entry of the plugin executable: `outrider-driver-process [--name NAME] [--log-level LEVEL]`. */
import { systemClock } from "@outrider/backoff";
import { noopLogger, type Logger } from "@outrider/foundation";
import { serve } from "@outrider/plugin-driver/serve";
import { parseArgs } from "node:util";
import { findCgroups } from "./cgroup-mounts.ts";
import { findHostTools } from "./host-tools.ts";
import { readBootId, readProcStat, signalProcess, UNKNOWN_START } from "./identity.ts";
import { lockFolder } from "./lock.ts";
import { PROCESS_FILE, readServer, writeServer } from "./process-file.ts";
import { ProcessDriver } from "./process-driver.ts";
import { createShimSpawner } from "./shim-spawner.ts";
import { openStateFolder } from "./state-folder.ts";
import { StockPlugin } from "./stock-plugin.ts";
import { Supervisor } from "./supervisor.ts";
import { TaskStats } from "./task-stats.ts";
import { TaskStore } from "./task-store.ts";

const SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const SIGTERM = 15;
const LEVELS = ["trace", "debug", "info", "warn", "error"] as const;

const { values } = parseArgs({
  options: { name: { type: "string", default: "process" }, "log-level": { type: "string", default: "info" } },
});
const { name } = values;
if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name)) {
  process.stderr.write(`[ERROR] --name ${JSON.stringify(name)}: must be lower case letters, digits, - and _\n`);
  process.exit(2);
}
const logLevel = LEVELS.find((level) => level === values["log-level"]);
if (logLevel === undefined) {
  process.stderr.write(
    `[ERROR] --log-level ${JSON.stringify(values["log-level"])}: must be one of ${LEVELS.join(", ")}\n`,
  );
  process.exit(2);
}
let logger: Logger = noopLogger;
const clock = systemClock;
// what every start of a task finds anew is looked for once
let host: { tools: ReturnType<typeof findHostTools>; cgroups: ReturnType<typeof findCgroups> } | undefined;

async function open(dataDir: string, driverName: string): Promise<ProcessDriver | undefined> {
  const folder = openStateFolder(dataDir);
  if (!(await lockFolder(folder.path))) {
    endOrphan(folder.path);
    folder.close();
    return undefined;
  }
  host ??= { tools: findHostTools(), cgroups: findCgroups() };
  const bootId = readBootId();
  writeServer(folder.path, { build: driverName, protocol: 0, bootId }, logger);
  const supervisor = new Supervisor({
    store: new TaskStore(folder.path),
    ...host,
    // the agent's own log process reads; what it has not read yet stays in the pipe, which it holds open
    logs: { drain: async () => true, descriptor: () => undefined },
    spawner: createShimSpawner(logger),
    bootId,
    clock,
    logger,
  });
  supervisor.watch();
  supervisor.recover();
  return new ProcessDriver({
    supervisor,
    host: { ...host, searchPath: process.env["PATH"] ?? SEARCH_PATH },
    stats: new TaskStats(clock, logger),
    facts: {},
    clock,
    logger,
    name: driverName,
  });
}

/** A plugin whose agent is gone, and which the new agent did not take back, serves nobody any more. Its tasks are taken over. */
function endOrphan(folder: string): void {
  const server = readServer(folder);
  if (server === undefined || server.bootId !== readBootId() || server.startTime === UNKNOWN_START) return;
  if (server.pid === process.pid || readProcStat(server.pid)?.parent !== 1) return;
  logger.warn({ pid: server.pid, file: PROCESS_FILE }, "ending the plugin process of an agent that is gone");
  signalProcess(server, SIGTERM);
}

void serve(new StockPlugin({ name, clock, logger: { ...noopLogger }, open }), {
  logLevel,
  module: name,
  onLogger: (made) => (logger = made),
});
