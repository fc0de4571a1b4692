/**
 * How agent and driver process talk on their socket: frames of a nine-byte head (length of the rest, kind, number of the call; little endian)
 * and a MessagePack array with what belongs to that kind. Methods of the driver carry Nomad's protobuf messages as their one value. Both ends are ours and of one
 * machine, so there is no need for HTTP/2 between them: a call costs a tenth of a gRPC call.
 */
import { Decoder, Encoder } from "@msgpack/msgpack";

/** Kinds of frames, and what follows the number of the call. */
export const Kind = {
  /** From the agent: method, arguments. */
  call: 0,
  /** From the agent: the answer is not wanted any more. */
  cancel: 1,
  /** Both ways: one value of a stream. */
  item: 2,
  /** Both ways: the stream is over. From the driver process also the answer of a call, with its value. */
  end: 3,
  /** From the driver process: the failure of a call or stream. */
  fail: 4,
  /** Both ways: so many more values may come. */
  credit: 5,
} as const;

/** One frame. */
export type Frame = readonly [kind: number, call: number, ...rest: unknown[]];

/** Values of a stream that may be under way or wait for their reader. */
export const WINDOW = 16;

const HEAD_BYTES = 9;
/** More is no frame of ours. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

// a bigint stays one, a number stays a number, an absent field stays absent
const encoder = new Encoder({ useBigInt64: true, ignoreUndefined: true });
const decoder = new Decoder({ useBigInt64: true });

/** The bytes of a frame. */
export function encodeFrame([kind, call, ...rest]: Frame): Buffer {
  const body = encoder.encodeSharedRef(rest);
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + body.length);
  bytes.writeUInt32LE(body.length, 0);
  bytes.writeUInt8(kind, 4);
  bytes.writeUInt32LE(call, 5);
  bytes.set(body, HEAD_BYTES);
  return bytes;
}

/** Who gets the frames. */
export interface FrameListener {
  frame(frame: Frame): void;
  /** The values of a frame cannot be read; only that call is concerned. */
  unreadable(kind: number, call: number, reason: Error): void;
}

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  readonly #listener: FrameListener;
  #rest: Buffer = Buffer.alloc(0);

  constructor(listener: FrameListener) {
    this.#listener = listener;
  }

  /** Takes what came. Throws for a length that no frame has. */
  push(chunk: Buffer): void {
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (rest.length >= HEAD_BYTES) {
      const length = rest.readUInt32LE(0);
      if (length > MAX_BODY_BYTES) throw new Error(`frame of ${length} bytes`);
      const end = HEAD_BYTES + length;
      if (rest.length < end) break;
      this.#read(rest.readUInt8(4), rest.readUInt32LE(5), rest.subarray(HEAD_BYTES, end));
      rest = rest.subarray(end);
    }
    this.#rest = rest;
  }

  #read(kind: number, call: number, body: Buffer): void {
    let values: unknown;
    try {
      // a copy: bytes fields are views of it, and would keep the whole chunk alive
      values = decoder.decode(new Uint8Array(body));
      if (!Array.isArray(values)) throw new Error("no list");
    } catch (reason) {
      const why = reason instanceof Error ? reason.message : String(reason);
      this.#listener.unreadable(kind, call, new Error(`values of a call cannot be read: ${why}`, { cause: reason }));
      return;
    }
    this.#listener.frame([kind, call, ...(values as unknown[])]);
  }
}
