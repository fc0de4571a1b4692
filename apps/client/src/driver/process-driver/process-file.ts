/** The file that names the process which serves a folder. */
import type { Logger } from "@outrider/foundation";
import { join } from "node:path";
import { readTextOrNothing, writeFileAtomic } from "./files.ts";
import { type ProcessIdentity, readProcStat, UNKNOWN_START } from "./identity.ts";

/** Its name. */
export const PROCESS_FILE = "driver.json";

/** What it holds. */
export interface ServerFacts {
  readonly protocol: number;
  readonly build: string;
  readonly bootId: string;
}

/** Writes it for this process. On a full disk the folder is served all the same. */
export function writeServer(folder: string, facts: ServerFacts, logger: Logger): void {
  const startTime = readProcStat(process.pid)?.startTime ?? UNKNOWN_START;
  try {
    writeFileAtomic(join(folder, PROCESS_FILE), JSON.stringify({ pid: process.pid, startTime, ...facts }), 0o600);
  } catch (reason) {
    logger.warn({ err: reason }, "cannot write down who serves this folder");
  }
}

/** Reads it; `undefined` when there is none, or it cannot be understood. */
export function readServer(folder: string): (ServerFacts & ProcessIdentity) | undefined {
  try {
    const found = JSON.parse(readTextOrNothing(join(folder, PROCESS_FILE)) ?? "null") as ServerFacts & ProcessIdentity;
    return Number.isInteger(found?.pid) && typeof found.startTime === "string" ? found : undefined;
  } catch {
    return undefined;
  }
}
