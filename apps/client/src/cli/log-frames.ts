/** A frame of a log or file stream as JSON carries it; an empty one is a heartbeat. */
export interface FrameView {
  readonly Data?: string;
  readonly File?: string;
  readonly FileEvent?: string;
  readonly Offset?: number;
}

/** No frame is larger: 64 KiB of data in base64 and its keys. Beyond it the peer is not sending frames. */
const MAX_FRAME_BYTES = 1 << 20;

/** Closing braces in one frame: those of a file's name and its own. */
const MAX_BRACES = 1000;

const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Splits a body of JSON objects that follow one another without separator. A frame has no inner objects: it ends with its first closing
 * brace, unless that one stands in a file's name, where no object is complete.
 */
export async function* frames(stream: AsyncIterable<Uint8Array>): AsyncGenerator<FrameView> {
  let parts: Uint8Array[] = [];
  let length = 0;
  let braces = 0;
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf(CLOSE); at >= 0; at = chunk.indexOf(CLOSE, at + 1)) {
      const piece = chunk.subarray(from, at + 1);
      const frame = parse(parts.length === 0 ? piece : Buffer.concat([...parts, piece]));
      if (frame === undefined) {
        if (++braces > MAX_BRACES) throw new Error("log stream: a frame does not end");
        continue;
      }
      parts = [];
      length = braces = 0;
      from = at + 1;
      yield frame;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > MAX_FRAME_BYTES) throw new Error("log stream: a frame does not end");
  }
  if (parts.some((part) => part.some((byte) => byte > 0x20))) throw new Error("log stream: ended inside a frame");
}

const DATA = Buffer.from('"Data":"');
const QUOTE = 0x22;

/** The frame, or undefined while it is not whole. The data, nearly all of it, are taken out before the rest is read as JSON. */
function parse(frame: Uint8Array): FrameView | undefined {
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength);
  const from = bytes.indexOf(DATA);
  const start = from + DATA.length;
  const end = from < 0 ? -1 : bytes.indexOf(QUOTE, start);
  const text = end < 0 ? bytes.toString() : bytes.toString("utf8", 0, start) + bytes.toString("utf8", end);
  if (text.trimStart().charCodeAt(0) !== OPEN) throw new Error("log stream: what comes is no frame");
  try {
    const view = JSON.parse(text) as FrameView;
    return end < 0 ? view : { ...view, Data: bytes.toString("latin1", start, end) };
  } catch {
    return undefined;
  }
}
