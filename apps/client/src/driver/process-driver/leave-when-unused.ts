/** When a driver process has nothing more to do: no agent wants it, or its folder is gone. */
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { statSync } from "node:fs";
import { isAlive, type ProcessIdentity, signalProcess } from "./identity.ts";

/** How long a process without tasks waits for an agent: one that was killed may come back, or may have died before it wrote down whom it started. */
export const UNWANTED_MS = 10_000;
const STEP_MS = 1_000;
const SIGKILL = 9;

/** What is looked at. */
export interface UsedParts {
  /** The state folder. */
  readonly folder: string;
  /** Connections of agents at this moment. */
  agents(): number;
  /** Tasks that are running or whose result nobody has fetched, and outputs that are collected. */
  isNeeded(): boolean;
  /** Who waits for a task, and the task. */
  tasks(): Iterable<{ readonly shim?: ProcessIdentity | undefined; readonly task?: ProcessIdentity | undefined }>;
  quit(): void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Looks every second. Without a folder no agent finds this process any more: it stays only for tasks that live, whose output would else fill their
 * pipes and stop them, and ends with the last one. Returns how to stop looking.
 */
export function leaveWhenUnused(parts: UsedParts): () => void {
  const { folder, clock, logger } = parts;
  const own = identityOf(folder);
  let unwantedSince: number | undefined;
  let told = false;
  let timer: unknown;
  const look = (): void => {
    if (identityOf(folder) !== own) {
      const tasks = [...parts.tasks()];
      if (!tasks.some(({ task }) => task !== undefined && isAlive(task))) {
        logger.warn({ folder }, "the state folder is gone, and no task lives: the driver process ends");
        for (const { shim } of tasks) if (shim !== undefined) signalProcess(shim, SIGKILL);
        return parts.quit();
      }
      if (!told)
        logger.error({ folder }, "the state folder is gone; the driver process ends with the last of its tasks");
      told = true;
    } else if (parts.agents() > 0 || parts.isNeeded()) {
      unwantedSince = undefined;
    } else {
      unwantedSince ??= clock.monotonic();
      if (clock.monotonic() - unwantedSince >= UNWANTED_MS) {
        logger.info("no agent and no task: the driver process ends");
        return parts.quit();
      }
    }
    timer = clock.setTimeout(look, STEP_MS);
  };
  timer = clock.setTimeout(look, STEP_MS);
  return () => clock.clearTimeout(timer);
}

/** `undefined`: not there, or something else of that name. */
function identityOf(folder: string): string | undefined {
  try {
    const { dev, ino } = statSync(folder);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
