import { sleep, type Clock } from "@outrider/backoff";
import { AllocDirError } from "./alloc-dir-error.ts";
import type { AllocDirFS, FileReader } from "./alloc-dir-fs.ts";
import { FRAME_BYTES, type StreamFrame } from "./stream-frame.ts";

/** Where the log files of all tasks stand, relative to the allocation. */
const LOG_DIR = "alloc/logs";
const POLL_MS = 100;

/** What part of a task's log is wanted. @public */
export interface TaskLogRequest {
  readonly task: string;
  readonly type: "stdout" | "stderr";
  /** Bytes from the start, or back from the end, over all retained files. */
  readonly offset: number;
  readonly origin: "start" | "end";
  readonly follow: boolean;
}

interface LogFile {
  readonly index: number;
  readonly size: number;
}

async function logFiles(fs: AllocDirFS, r: TaskLogRequest): Promise<LogFile[]> {
  const prefix = `${r.task}.${r.type}.`;
  const files: LogFile[] = [];
  for (const entry of await fs.list(LOG_DIR)) {
    if (entry.IsDir || !entry.Name.startsWith(prefix)) continue;
    const rest = entry.Name.slice(prefix.length);
    // What a shipper leaves beside the log (`web.stdout.0.gz`) and another task's log are none of ours.
    if (/^(0|[1-9]\d{0,14})$/.test(rest)) files.push({ index: Number(rest), size: entry.Size });
  }
  return files.sort((a, b) => a.index - b.index);
}

/** The file and the place in it where reading starts. */
function startOf(files: readonly LogFile[], r: TaskLogRequest): { index: number; offset: number } {
  const sizes = files.reduce((sum, f) => sum + f.size, 0);
  let left = r.origin === "start" ? Math.min(r.offset, sizes) : Math.max(0, sizes - r.offset);
  for (const file of files) {
    if (left < file.size) return { index: file.index, offset: left };
    left -= file.size;
  }
  const last = files.at(-1) as LogFile;
  return { index: last.index, offset: last.size };
}

/**
 * The output of a task across its rotated files. Ends at the end of what there is, or follows until the signal: across
 * rotation, truncation and deletion, each byte once. The first listing failing or being empty rejects with NOT_FOUND. @public
 */
export async function* taskLogs(
  fs: AllocDirFS,
  r: TaskLogRequest,
  o: { readonly signal: AbortSignal; readonly clock?: Clock },
): AsyncGenerator<StreamFrame> {
  const wait = (): Promise<void> => sleep(POLL_MS, { signal: o.signal, ...(o.clock ? { clock: o.clock } : {}) });
  const files = await logFiles(fs, r);
  if (files.length === 0) {
    throw new AllocDirError(
      "NOT_FOUND",
      `log entry for task ${JSON.stringify(r.task)} and log type ${JSON.stringify(r.type)} not found`,
      LOG_DIR,
    );
  }
  let { index, offset } = startOf(files, r);
  const last = (files.at(-1) as LogFile).index;
  for (;;) {
    const path = `${LOG_DIR}/${r.task}.${r.type}.${index}`;
    let reader: FileReader | undefined;
    try {
      reader = await fs.readAt(path, offset);
    } catch (reason) {
      if (!(reason instanceof AllocDirError) || reason.code !== "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND") throw reason;
    }
    let next: number | undefined;
    if (reader !== undefined) {
      await using open = reader;
      next = yield* readOne(fs, r, open, path, index, last, wait, o.signal);
    } else next = r.follow ? await nextIndex(fs, r, index, wait) : await laterIndex(fs, r, index, last);
    if (next === undefined) return;
    index = next;
    offset = 0;
  }
}

/** Reads one file to its end; gives the index to go on with, or nothing at the end of all. */
async function* readOne(
  fs: AllocDirFS,
  r: TaskLogRequest,
  reader: FileReader,
  path: string,
  index: number,
  last: number,
  wait: () => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<StreamFrame, number | undefined> {
  let quiet = 0;
  for (;;) {
    signal.throwIfAborted();
    const data = await reader.read(FRAME_BYTES);
    if (data.length > 0) {
      quiet = 0;
      yield { file: path, offset: reader.position, data };
      continue;
    }
    if (!r.follow) return laterIndex(fs, r, index, last);
    quiet++;
    if ((await reader.size()) < reader.position) {
      // Cut by the task or by hand: what is written from now on starts at the beginning.
      yield { file: path, offset: 0, fileEvent: "file truncated" };
      return index;
    }
    const later = await laterIndex(fs, r, index, Number.MAX_SAFE_INTEGER);
    // The writer may still have had bytes for this file when it opened the next one: two quiet reads, a poll apart.
    if (later !== undefined && quiet >= 2) return later;
    if (later === undefined && quiet >= 2 && (await fs.identify(path))?.identity !== reader.identity) {
      yield { file: path, offset: reader.position, fileEvent: "file deleted" };
      return nextIndex(fs, r, index, wait);
    }
    await wait();
  }
}

async function laterIndex(fs: AllocDirFS, r: TaskLogRequest, index: number, last: number): Promise<number | undefined> {
  return (await logFiles(fs, r)).find((f) => f.index > index && f.index <= last)?.index;
}

/** Waits for a file with this index (made anew) or a later one. */
async function nextIndex(fs: AllocDirFS, r: TaskLogRequest, index: number, wait: () => Promise<void>): Promise<number> {
  for (;;) {
    const found = (await logFiles(fs, r)).find((f) => f.index >= index);
    if (found !== undefined) return found.index;
    await wait();
  }
}
