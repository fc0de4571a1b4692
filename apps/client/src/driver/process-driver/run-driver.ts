/** The driver process: everything between its start and its end. */
import { createLogCollector } from "@outrider/allocdir-interface/logs";
import { systemClock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { createDriverHandlers } from "@outrider/plugin-driver/serve";
import { join } from "node:path";
import { loadNativeIo } from "../../logs/koffi-io.ts";
import { agentCalls } from "./agent-services.ts";
import { findCgroups } from "./cgroup-mounts.ts";
import { leaveWhenUnused } from "./leave-when-unused.ts";
import { type LogLevel, openDriverLog } from "./driver-log.ts";
import { closeForeignDescriptors } from "./foreign-descriptors.ts";
import { findHostTools } from "./host-tools.ts";
import { readBootId } from "./identity.ts";
import { EXIT_LOCKED, lockFolder } from "./lock.ts";
import { LogRegistry } from "./log-registry.ts";
import { ProcessDriver } from "./process-driver.ts";
import { writeServer } from "./process-file.ts";
import { PROCESS_PROTOCOL } from "./process-protocol.ts";
import { type FrameHandlers, serveFrames } from "./rpc/frame-server.ts";
import { createShimSpawner } from "./shim-spawner.ts";
import { openStateFolder, PROCESS_SOCKET } from "./state-folder.ts";
import { TaskStats } from "./task-stats.ts";
import { Supervisor } from "./supervisor.ts";
import { TaskStore } from "./task-store.ts";

/** What the agent passes on the command line. */
export interface DriverArguments {
  readonly dataDir: string;
  readonly build: string;
  readonly logLevel: LogLevel;
}

const SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** How long the last answers may take to leave. */
const LEAVE_MS = 50;

/** Runs until it is asked to end, then ends the process. Tasks live on. */
export async function runDriver({ dataDir, build, logLevel }: DriverArguments): Promise<void> {
  const closed = closeForeignDescriptors();
  const clock = systemClock;
  const folder = openStateFolder(dataDir);
  if (!(await lockFolder(folder.path))) process.exit(EXIT_LOCKED);
  const logger = openDriverLog(join(folder.path, "driver.log"), logLevel, clock);
  surviveOrSay(logger);
  process.chdir("/");
  if (closed.length > 0)
    logger.info({ closed }, "closed descriptors that were left open by whoever started this process");

  const native = loadNativeIo(logger);
  const collector = createLogCollector({ clock, logger, ...(native === undefined ? {} : { native }) });
  const tools = findHostTools();
  const cgroups = findCgroups();
  const bootId = readBootId();
  const store = new TaskStore(folder.path);
  const registry = new LogRegistry(folder.path, collector, store.pool, logger);
  const supervisor = new Supervisor({
    store,
    tools,
    cgroups,
    logs: collector,
    spawner: createShimSpawner(logger),
    bootId,
    clock,
    logger,
  });
  supervisor.watch();
  await registry.restore();
  supervisor.recover();

  const host = { tools, cgroups, searchPath: process.env["PATH"] ?? SEARCH_PATH };
  const facts = { "driver.raw_exec.logs": native === undefined ? "copy" : "splice" };
  const stats = new TaskStats(clock, logger);
  const driver = new ProcessDriver({ supervisor, host, stats, facts, clock, logger });
  let leaving = false;
  const quit = (): void => {
    if (leaving) return;
    leaving = true;
    logger.info("driver process ends; tasks live on");
    supervisor.close();
    server.close();
    stopLooking();
    // answers that were given leave first
    clock.setTimeout(() => process.exit(0), LEAVE_MS);
  };
  const { calls, streams } = framesOf(
    createDriverHandlers(driver, { guardFifos: false, repeatConfig: false, clock, logger }),
  );
  const server = await serveFrames(folder.socket(PROCESS_SOCKET), {
    calls: { ...calls, ...agentCalls(registry, build, quit) },
    streams,
  });
  process.on("SIGTERM", quit);
  const stopLooking = leaveWhenUnused({
    folder: folder.path,
    agents: () => server.connections(),
    isNeeded: () => supervisor.records[Symbol.iterator]().next().done !== true || !registry.isEmpty,
    tasks: () => supervisor.records,
    quit,
    clock,
    logger,
  });
  writeServer(folder.path, { bootId, protocol: PROCESS_PROTOCOL, build }, logger);
  logger.info(
    { build, members: cgroups.mode, logs: native === undefined ? "copy" : "splice" },
    "driver process serves",
  );
}

/** The driver's messages are the one value of a frame. */
function framesOf(handlers: ReturnType<typeof createDriverHandlers>): FrameHandlers {
  const calls = Object.entries(handlers.calls).map(
    ([path, run]) =>
      [path, ([request]: readonly unknown[], signal: AbortSignal) => run(request as Uint8Array, signal)] as const,
  );
  const streams = Object.entries(handlers.streams).map(
    ([path, run]) =>
      [
        path,
        ([request]: readonly unknown[], signal: AbortSignal, input: AsyncIterable<unknown>) =>
          run(request as Uint8Array, signal, input as AsyncIterable<Uint8Array>),
      ] as const,
  );
  return { calls: Object.fromEntries(calls), streams: Object.fromEntries(streams) };
}

/** A terminal's signals are not for us, and a defect must leave a trace. */
function surviveOrSay(logger: Logger): void {
  for (const name of ["SIGINT", "SIGHUP", "SIGPIPE"] as const) process.on(name, () => undefined);
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const die = (reason: unknown): void => {
    logger.error({ err: reason }, "driver process ends for a defect; tasks live on");
    process.exit(1);
  };
  process.on("uncaughtException", die);
  process.on("unhandledRejection", die);
}
