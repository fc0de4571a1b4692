/**
 * The record of one start: a preallocated file that the shim and the driver write in place, so that it also works on a full disk.
 *
 * ```
 * S <shim pid> <shim start> <task pid> <task start> .      by the shim, after the fork
 * E <status of wait>                                       by the shim, after the end
 * [1] + Done(3) …                                          the shell's `jobs`: exit code or signal
 * .
 * X <exit code> <signal> <oom 0|1> <epoch ms> .            by the driver at byte 384: the final result
 * ```
 */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { writeAll } from "./files.ts";
import type { ProcessIdentity } from "./identity.ts";

/** Size of a slot. */
export const SLOT_BYTES = 512;
const RESULT_OFFSET = 384;

/** What the shim told about the end of its task. */
export interface ShimExit {
  /** -1 when the text could not be understood. */
  readonly exitCode: number;
  readonly signal: number;
}

/** The driver's final word. */
export interface SavedResult extends ShimExit {
  readonly oomKilled: boolean;
  readonly completedAtMs: number;
}

/** A slot as read. Each part counts only with its closing dot. */
export interface SlotContent {
  readonly shim?: ProcessIdentity;
  readonly task?: ProcessIdentity;
  readonly exit?: ShimExit;
  readonly result?: SavedResult;
}

const scratch = Buffer.alloc(SLOT_BYTES);

/** The content of a new slot. */
export function emptySlot(): Buffer {
  return Buffer.alloc(SLOT_BYTES, "\n");
}

/** Reads a slot; a missing file reads as empty. */
export function readSlot(path: string): SlotContent {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw reason;
  }
  try {
    const length = readSync(fd, scratch, 0, SLOT_BYTES, 0);
    return parseSlot(scratch.toString("latin1", 0, length));
  } finally {
    closeSync(fd);
  }
}

/** Saves the final result in place: no space is needed. */
export function saveResult(path: string, result: SavedResult): void {
  const { exitCode, signal, oomKilled, completedAtMs } = result;
  const line = `\nX ${exitCode} ${signal} ${oomKilled ? 1 : 0} ${completedAtMs} .\n`;
  const fd = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW);
  try {
    writeAll(fd, Buffer.from(line), RESULT_OFFSET);
  } finally {
    closeSync(fd);
  }
}

/** Understands the text of a slot. */
export function parseSlot(text: string): SlotContent {
  const started = /^S (\d+) (\d+) (\d+) (\d+) \.$/m.exec(text);
  const final = /^X (-?\d+) (\d+) ([01]) (\d+) \.$/m.exec(text);
  const ended = /^E (\d+)\n([^]*?)^\.$/m.exec(text);
  return {
    ...(started === null ? {} : identities(started)),
    ...(ended === null ? {} : { exit: shimExit(Number(ended[1]), text) }),
    ...(final === null
      ? {}
      : {
          result: {
            exitCode: Number(final[1]),
            signal: Number(final[2]),
            oomKilled: final[3] === "1",
            completedAtMs: Number(final[4]),
          },
        }),
  };
}

function identities(match: RegExpExecArray): { shim: ProcessIdentity; task: ProcessIdentity } {
  return {
    shim: { pid: Number(match[1]), startTime: match[2] ?? "0" },
    task: { pid: Number(match[3]), startTime: match[4] ?? "0" },
  };
}

/** `jobs` says `Done`, `Done(3)` (dash, ash) or `Exit 3` (bash) for an exit, else it names the signal. bash writes that line before `E`. */
function shimExit(status: number, text: string): ShimExit {
  const words = [...text.matchAll(/^\[1\] ?[+-]? +(.*)$/gm)].map((match) => match[1] ?? "");
  const word = words.findLast((candidate) => !/^(Running|Stopped|Suspended)\b/.test(candidate));
  if (word === undefined) return { exitCode: -1, signal: 0 };
  if (/^(Done|Exit)\b/.test(word) || status <= 128) return { exitCode: status, signal: 0 };
  return { exitCode: status, signal: status - 128 };
}
