/** Making and opening the fifo of a stream. */
import { OutriderError } from "@outrider/foundation";
import { execFile } from "node:child_process";
import { closeSync, constants, fstatSync, lstatSync, openSync, renameSync, rmSync } from "node:fs";
import { promisify } from "node:util";
import type { LogFolder } from "./log-folder.ts";
import type { NativeLogIo } from "./native-io.ts";

const run = promisify(execFile);
const { O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;

/** Mode of a log fifo. */
export const FIFO_MODE = 0o600;

/**
 * Makes sure that the name is a fifo with no second name; whatever else sits there is removed, or moved aside if it cannot be removed.
 * Without native calls the program of that name is run.
 */
export async function ensureFifo(folder: LogFolder, name: string, native?: Pick<NativeLogIo, "mkfifo">): Promise<void> {
  const there = lstatSync(folder.at(name), { throwIfNoEntry: false });
  if (there?.isFIFO() === true && there.nlink === 1) return;
  if (there !== undefined) clear(folder, name);
  if (native !== undefined) native.mkfifo(folder.at(name), FIFO_MODE);
  else await run("mkfifo", ["-m", FIFO_MODE.toString(8), "--", folder.atForChild(name)]);
}

/** Opens both ends of a fifo in one non-blocking descriptor: as long as it is open no reader sees an end and no writer a broken pipe. */
export function openFifo(folder: LogFolder, name: string): number {
  const fd = openSync(folder.at(name), O_RDWR | O_NONBLOCK | O_NOFOLLOW);
  if (fstatSync(fd).isFIFO()) return fd;
  closeSync(fd);
  throw new OutriderError("ERR_OUTRIDER_LOGS_FIFO", `logs: ${name} in ${folder.path} is no fifo`, {
    details: { field: "fifo", text: name },
  });
}

/** Whether the name still leads to the open fifo. */
export function isSameFifo(folder: LogFolder, name: string, fd: number): boolean {
  const there = lstatSync(folder.at(name), { throwIfNoEntry: false });
  const mine = fstatSync(fd);
  return there !== undefined && there.ino === mine.ino && there.dev === mine.dev;
}

function clear(folder: LogFolder, name: string): void {
  try {
    rmSync(folder.at(name), { force: true });
  } catch {
    // a folder, for instance
    renameSync(folder.at(name), folder.at(`${name}.${process.hrtime.bigint()}.aside`));
  }
}
