/** A stream without native help: read, then write. What lies between is lost if the process is killed just then: at most one chunk. */
import { readSync } from "node:fs";
import { errnoOf } from "./errors.ts";
import { PartialWriteError } from "./rotating-log.ts";
import type { LogSink } from "./sink.ts";
import { CHUNK_BYTES, dropOnce, type PumpResult } from "./splice-stream.ts";

const shared = Buffer.allocUnsafe(CHUNK_BYTES);

/** Copies chunks into a log; keeps what the disk refused until it takes it. */
export class CopyPump {
  readonly #sink: LogSink;
  #rest: Buffer | undefined;

  constructor(sink: LogSink) {
    this.#sink = sink;
  }

  /** Reads one chunk from the non-blocking pipe and writes it. */
  once(pipe: number): PumpResult {
    if (this.#rest !== undefined) return this.#flush();
    const state = this.#sink.prepare();
    if (state === "paused") return "paused";
    if (state === "dropping") return dropOnce(pipe, this.#sink);
    let count: number;
    try {
      count = readSync(pipe, shared, 0, shared.length, null);
    } catch (reason) {
      if (errnoOf(reason) === "EAGAIN") return "empty";
      throw reason;
    }
    return this.push(shared.subarray(0, count));
  }

  /** Takes bytes that somebody else read. Answers "paused" when it had to keep some: give no more until {@link once} says otherwise. */
  push(piece: Buffer): PumpResult {
    if (this.#rest !== undefined) {
      this.#rest = Buffer.concat([this.#rest, piece]);
      return this.#flush();
    }
    return this.#write(piece);
  }

  #flush(): PumpResult {
    const rest = this.#rest as Buffer;
    const state = this.#sink.prepare();
    if (state === "paused") return "paused";
    this.#rest = undefined;
    if (state === "dropping") {
      this.#sink.drop(rest.length);
      return "more";
    }
    return this.#write(rest);
  }

  #write(piece: Buffer): PumpResult {
    try {
      this.#sink.log.write(piece);
      this.#sink.succeeded();
      return "more";
    } catch (reason) {
      const written = reason instanceof PartialWriteError ? reason.written : 0;
      this.#rest = Buffer.from(piece.subarray(written));
      const state = this.#sink.failed(reason instanceof PartialWriteError ? reason.cause : reason);
      return state === "dropping" ? "more" : "paused";
    }
  }
}
