/** The driver's bytes in a task handle: enough to find, and if need be end, a task that the state folder no longer knows. */
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { type GroupPaths, killMembers, removeGroup } from "./group.ts";
import { isAlive, type ProcessIdentity, readBootId, signalProcess } from "./identity.ts";
import type { TaskRecord } from "./task-record.ts";

const SIGKILL = 9;
const HANDLE_VERSION = 1;

/** What the bytes hold. */
export interface HandleState {
  readonly version: number;
  readonly bootId: string;
  readonly group: GroupPaths;
  readonly shim?: ProcessIdentity;
  readonly task?: ProcessIdentity;
}

/** Encodes. */
export function encodeHandle({ meta, shim, task }: TaskRecord): Uint8Array {
  const state: HandleState = {
    version: HANDLE_VERSION,
    bootId: meta.bootId,
    group: meta.group,
    ...(shim === undefined ? {} : { shim }),
    ...(task === undefined ? {} : { task }),
  };
  return Buffer.from(JSON.stringify(state));
}

/** Decodes; `undefined` for bytes of somebody else or of a newer format. */
export function decodeHandle(bytes: Uint8Array): HandleState | undefined {
  try {
    const state = JSON.parse(Buffer.from(bytes).toString("utf8")) as HandleState;
    return state.version === HANDLE_VERSION && typeof state.bootId === "string" ? state : undefined;
  } catch {
    return undefined;
  }
}

/** Ends what a handle points to, if it is of this boot and still the same processes. */
export async function endHandle(state: HandleState, taskId: string, clock: Clock, logger: Logger): Promise<void> {
  if (state.bootId !== readBootId()) return;
  // the shim first, lest it writes into a slot that a new task may get
  if (state.shim !== undefined) signalProcess(state.shim, SIGKILL);
  if (state.task !== undefined && isAlive(state.task)) {
    logger.warn({ taskId, pid: state.task.pid }, "ending a task that the state folder does not know");
    signalProcess(state.task, SIGKILL);
  }
  await killMembers(state.group, taskId, clock);
  await removeGroup(state.group, clock);
}
