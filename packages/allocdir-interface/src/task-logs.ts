import { sleep, type Clock } from "@outrider/backoff";
import { AllocDirError } from "./alloc-dir-error.ts";
import type { AllocDirFS, FileReader } from "./alloc-dir-fs.ts";
import { FRAME_BYTES, type StreamFrame } from "./stream-frame.ts";
import { Changes } from "./watch/changes.ts";

/** Where the log files of all tasks stand, relative to the allocation. */
const LOG_DIR = "alloc/logs";
/** How long a writer may keep bytes for a file when it has opened the next one already, ms. */
const FLUSH_MS = 100;

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

/** The part of a file API that logs need. @public */
export type LogSource = Pick<AllocDirFS, "list" | "readAt" | "changeEvents">;

async function logFiles(fs: LogSource, r: TaskLogRequest): Promise<LogFile[]> {
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
  fs: LogSource,
  r: TaskLogRequest,
  o: { readonly signal: AbortSignal; readonly clock?: Clock },
): AsyncGenerator<StreamFrame> {
  const files = await logFiles(fs, r);
  if (files.length === 0) {
    throw new AllocDirError(
      "NOT_FOUND",
      `log entry for task ${JSON.stringify(r.task)} and log type ${JSON.stringify(r.type)} not found`,
      LOG_DIR,
    );
  }
  const c: LogContext = { fs, r, last: (files.at(-1) as LogFile).index, signal: o.signal, clock: o.clock };
  let { index, offset } = startOf(files, r);
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
      next = r.follow ? yield* followOne(c, open, path, index) : yield* readOne(c, open, path, index);
    } else next = r.follow ? await nextIndex(c, index) : await laterIndex(c, index, c.last);
    if (next === undefined) return;
    index = next;
    offset = 0;
  }
}

interface LogContext {
  readonly fs: LogSource;
  readonly r: TaskLogRequest;
  /** The highest number at the beginning: what does not follow ends with it. */
  readonly last: number;
  readonly signal: AbortSignal;
  readonly clock: Clock | undefined;
}

/** Reads one file to the end of what there is; gives the number of the next one, or nothing at the end of all. */
async function* readOne(
  c: LogContext,
  reader: FileReader,
  path: string,
  index: number,
): AsyncGenerator<StreamFrame, number | undefined> {
  yield* readToEnd(c, reader, path);
  return laterIndex(c, index, c.last);
}

/** Gives what there is; says whether there was anything. */
async function* readToEnd(c: LogContext, reader: FileReader, path: string): AsyncGenerator<StreamFrame, boolean> {
  for (let any = false; ; any = true) {
    c.signal.throwIfAborted();
    const data = await reader.read(FRAME_BYTES);
    if (data.length === 0) return any;
    yield { file: path, offset: reader.position, data };
  }
}

/** Follows one file until it has a successor, or is cut or deleted; gives the number to go on with. */
async function* followOne(
  c: LogContext,
  reader: FileReader,
  path: string,
  index: number,
): AsyncGenerator<StreamFrame, number> {
  const changes = new Changes(c.fs, { file: path, size: reader.position, dir: LOG_DIR, signal: c.signal });
  try {
    let later: number | undefined;
    for (;;) {
      const gone = changes.deleted;
      yield* readToEnd(c, reader, path);
      if ((await reader.size()) < reader.position) {
        // Cut by the task or by hand: what is written from now on starts at the beginning.
        yield { file: path, offset: 0, fileEvent: "file truncated" };
        return index;
      }
      if (later === undefined && changes.listing) {
        changes.listing = false;
        later = await laterIndex(c, index, Number.MAX_SAFE_INTEGER);
      }
      if (later !== undefined) {
        // The writer may still have had bytes for this file when it opened the next one.
        await sleep(FLUSH_MS, { signal: c.signal, clock: c.clock });
        if (!(yield* readToEnd(c, reader, path))) return later;
      } else if (gone) {
        yield { file: path, offset: reader.position, fileEvent: "file deleted" };
        return await nextIndex(c, index);
      } else await changes.next();
    }
  } finally {
    changes.close();
  }
}

async function laterIndex(c: LogContext, index: number, last: number): Promise<number | undefined> {
  return (await logFiles(c.fs, c.r)).find((f) => f.index > index && f.index <= last)?.index;
}

/** Waits for a file with this index (made anew) or a later one. */
async function nextIndex(c: LogContext, index: number): Promise<number> {
  const changes = new Changes(c.fs, { dir: LOG_DIR, signal: c.signal });
  try {
    for (;;) {
      const found = (await logFiles(c.fs, c.r)).find((f) => f.index >= index);
      if (found !== undefined) return found.index;
      await changes.next();
    }
  } finally {
    changes.close();
  }
}
