import { AllocDirError } from "./alloc-dir-error.ts";
import type { AllocDirFS, FileReader } from "./alloc-dir-fs.ts";
import { FRAME_BYTES, type StreamFrame } from "./stream-frame.ts";
import { Changes } from "./watch/changes.ts";

/** What part of a file is wanted. @public */
export interface StreamRequest {
  readonly path: string;
  /** Bytes from the start, or back from the end. */
  readonly offset: number;
  readonly origin: "start" | "end";
  readonly follow: boolean;
  /** At most so many bytes; 0 or absent means no limit. */
  readonly limit?: number;
}

/** The part of a file API that streaming needs. @public */
export type StreamSource = Pick<AllocDirFS, "identify" | "readAt" | "changeEvents">;

/** A file as frames, followed until the signal, its deletion or replacement; a truncated one starts anew. @public */
export async function* streamFile(
  fs: StreamSource,
  r: StreamRequest,
  o: { readonly signal: AbortSignal },
): AsyncGenerator<StreamFrame> {
  const found = await fs.identify(r.path);
  if (found === undefined)
    throw new AllocDirError("NOT_FOUND", `${JSON.stringify(r.path)}: no such file or directory`, r.path);
  let offset = r.origin === "end" ? Math.max(0, found.size - r.offset) : r.offset;
  let left = r.limit !== undefined && r.limit > 0 ? r.limit : Number.POSITIVE_INFINITY;
  for (;;) {
    await using reader = await fs.readAt(r.path, offset);
    const end = yield* readToEnd(reader, r, left, o.signal);
    left -= end;
    if (left <= 0 || !r.follow) return;
    const changes = new Changes(fs, { file: r.path, size: reader.position, signal: o.signal });
    try {
      const state = yield* followOne(fs, r, reader, changes, left, o.signal);
      if (state.over) return;
      left = state.left;
    } finally {
      changes.close();
    }
    yield { file: r.path, offset: 0, fileEvent: "file truncated" };
    offset = 0;
  }
}

/** Reads to the end of what there is; gives the number of bytes. */
async function* readToEnd(
  reader: FileReader,
  r: StreamRequest,
  most: number,
  signal: AbortSignal,
): AsyncGenerator<StreamFrame, number> {
  let count = 0;
  while (count < most) {
    signal.throwIfAborted();
    const data = await reader.read(Math.min(FRAME_BYTES, most - count));
    if (data.length === 0) break;
    count += data.length;
    yield { file: r.path, offset: reader.position, data };
  }
  return count;
}

/** Reads on with each change until the file is cut (not over), deleted, or enough was read. */
async function* followOne(
  fs: StreamSource,
  r: StreamRequest,
  reader: FileReader,
  changes: Changes,
  most: number,
  signal: AbortSignal,
): AsyncGenerator<StreamFrame, { readonly over: boolean; readonly left: number }> {
  let left = most;
  let known = false;
  for (;;) {
    await changes.next();
    // The watch began after the opening: from then on it tells itself when the name comes to mean another file.
    const gone: boolean = changes.deleted || (!known && (await fs.identify(r.path))?.identity !== reader.identity);
    known = true;
    left -= yield* readToEnd(reader, r, left, signal);
    if (left <= 0) return { over: true, left };
    if (gone) {
      yield { file: r.path, offset: reader.position, fileEvent: "file deleted" };
      return { over: true, left };
    }
    if ((await reader.size()) < reader.position) return { over: false, left };
  }
}
