/** A stream whose bytes the kernel moves: nothing is ever held by this process. */
import { closeSync, readSync } from "node:fs";
import type { NativeLogIo } from "./native-io.ts";
import type { LogSink } from "./sink.ts";

/** Bytes moved by one call: what a pipe holds. */
export const CHUNK_BYTES = 64 * 1024;

/** How a pump round ended. */
export type PumpResult = "more" | "empty" | "paused";

/** Shared between the streams of one collector: the pipe into which bytes are copied for a look, and a buffer to read it. */
export class PeekPipe {
  readonly #io: NativeLogIo;
  readonly #ends: [number, number];
  readonly #buffer: Buffer = Buffer.allocUnsafe(CHUNK_BYTES);

  constructor(io: NativeLogIo) {
    this.#io = io;
    this.#ends = io.pipe();
  }

  close(): void {
    for (const end of this.#ends) closeSync(end);
  }

  /** The bytes at the front of a pipe, left there; valid until the next call. `undefined` = nothing there now. */
  look(pipe: number): Buffer | undefined {
    const count = this.#io.tee(pipe, this.#ends[1], CHUNK_BYTES);
    if (count <= 0) return undefined;
    let read = 0;
    while (read < count) read += readSync(this.#ends[0], this.#buffer, read, count - read, null);
    return this.#buffer.subarray(0, count);
  }
}

/** Moves once: up to one chunk from the pipe into the log. */
export function spliceOnce(io: NativeLogIo, peek: PeekPipe, pipe: number, sink: LogSink): PumpResult {
  const state = sink.prepare();
  if (state === "paused") return "paused";
  if (state === "dropping") return dropOnce(pipe, sink);
  const { log } = sink;
  try {
    const blind = log.blindRoom;
    if (blind > 0) return moved(io.splice(pipe, log.fd, log.size, Math.min(blind, CHUNK_BYTES)), sink);
    const piece = peek.look(pipe);
    if (piece === undefined) return "empty";
    const count = log.take(piece);
    if (count === 0) {
      log.rotate();
      return "more";
    }
    return moved(io.splice(pipe, log.fd, log.size, count), sink, piece);
  } catch (reason) {
    return sink.failed(reason) === "dropping" ? "more" : "paused";
  }
}

function moved(count: number, sink: LogSink, piece?: Buffer): PumpResult {
  if (count <= 0) return "empty";
  sink.log.advance(count, piece);
  sink.succeeded();
  return "more";
}

const trash = Buffer.allocUnsafe(CHUNK_BYTES);

/** Reads and forgets one chunk. */
export function dropOnce(pipe: number, sink: LogSink): PumpResult {
  try {
    sink.drop(readSync(pipe, trash, 0, trash.length, null));
    return "more";
  } catch (reason) {
    if ((reason as { code?: string }).code === "EAGAIN") return "empty";
    throw reason;
  }
}
