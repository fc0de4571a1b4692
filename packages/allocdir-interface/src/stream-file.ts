import { sleep, type Clock } from "@outrider/backoff";
import { AllocDirError } from "./alloc-dir-error.ts";
import type { AllocDirFS } from "./alloc-dir-fs.ts";
import { FRAME_BYTES, type StreamFrame } from "./stream-frame.ts";

const POLL_MS = 250;

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

/** A file as frames, followed until the signal, its deletion or replacement; a truncated one starts anew. @public */
export async function* streamFile(
  fs: AllocDirFS,
  r: StreamRequest,
  o: { readonly signal: AbortSignal; readonly clock?: Clock },
): AsyncGenerator<StreamFrame> {
  const wait = (): Promise<void> => sleep(POLL_MS, { signal: o.signal, ...(o.clock ? { clock: o.clock } : {}) });
  const found = await fs.identify(r.path);
  if (found === undefined)
    throw new AllocDirError("NOT_FOUND", `${JSON.stringify(r.path)}: no such file or directory`, r.path);
  let offset = r.origin === "end" ? Math.max(0, found.size - r.offset) : r.offset;
  let left = r.limit !== undefined && r.limit > 0 ? r.limit : Number.POSITIVE_INFINITY;
  for (;;) {
    await using reader = await fs.readAt(r.path, offset);
    for (;;) {
      o.signal.throwIfAborted();
      const data = await reader.read(Math.min(FRAME_BYTES, left));
      if (data.length > 0) {
        left -= data.length;
        yield { file: r.path, offset: reader.position, data };
        if (left <= 0) return;
        continue;
      }
      if (!r.follow) return;
      const now = await fs.identify(r.path);
      if (now === undefined || now.identity !== reader.identity) {
        // Bytes may have come between the read and the loss of the name.
        const tail = await reader.read(Math.min(FRAME_BYTES, left));
        if (tail.length > 0) {
          left -= tail.length;
          yield { file: r.path, offset: reader.position, data: tail };
          if (left <= 0) return;
          continue;
        }
        yield { file: r.path, offset: reader.position, fileEvent: "file deleted" };
        return;
      }
      if (now.size < reader.position) break;
      await wait();
    }
    yield { file: r.path, offset: 0, fileEvent: "file truncated" };
    offset = 0;
  }
}
