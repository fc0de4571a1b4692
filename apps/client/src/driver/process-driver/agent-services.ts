/** What the driver process serves beside the driver itself: log collection, and the talk about versions and leaving. */
import type { CollectRequest } from "@outrider/allocdir-interface/logs";
import { readProcStat, UNKNOWN_START } from "./identity.ts";
import type { LogRegistry } from "./log-registry.ts";
import { PROCESS_PROTOCOL } from "./process-protocol.ts";
import type { CallHandler } from "./rpc/frame-server.ts";

/** Answer to the first question of every connection. Its first two fields stay as they are for ever. */
export interface Hello {
  readonly protocol: number;
  readonly build: string;
  readonly pid: number;
  /** Field 22 of `/proc/<pid>/stat`. */
  readonly startTime: string;
}

/** The methods. */
export function agentCalls(registry: LogRegistry, build: string, quit: () => void): Record<string, CallHandler> {
  const startTime = readProcStat(process.pid)?.startTime ?? UNKNOWN_START;
  const hello: Hello = { protocol: PROCESS_PROTOCOL, build, pid: process.pid, startTime };
  return {
    hello: async () => hello,
    quit: async () => {
      // after this turn, so that the answer is on its way
      setImmediate(quit);
    },
    startLogs: ([request]) => registry.start(request as CollectRequest),
    stopLogs: ([key]) => registry.stop(key as string),
  };
}
