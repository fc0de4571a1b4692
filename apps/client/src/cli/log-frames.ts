/** A frame of a log or file stream as JSON carries it; an empty one is a heartbeat. */
export interface FrameView {
  readonly Data?: string;
  readonly File?: string;
  readonly FileEvent?: string;
  readonly Offset?: number;
}

/** No frame is larger: 64 KiB of data in base64 and its keys. Beyond it the peer is not sending frames. */
const MAX_FRAME_CHARS = 1 << 20;

/** Splits a body of JSON objects that follow one another without separator. */
export async function* frames(stream: AsyncIterable<Uint8Array>): AsyncGenerator<FrameView> {
  const decoder = new TextDecoder();
  let text = "";
  let at = 0;
  let depth = 0;
  let quoted = false;
  let escaped = false;
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    let from = 0;
    for (; at < text.length; at++) {
      const c = text[at];
      if (escaped) escaped = false;
      else if (quoted) {
        if (c === "\\") escaped = true;
        else if (c === '"') quoted = false;
      } else if (c === '"') quoted = true;
      else if (c === "{") depth++;
      else if (c === "}" && --depth === 0) {
        yield JSON.parse(text.slice(from, at + 1)) as FrameView;
        from = at + 1;
      }
    }
    text = text.slice(from);
    at -= from;
    if (text.length > MAX_FRAME_CHARS) throw new Error("log stream: a frame does not end");
  }
  if (text.trim() !== "") throw new Error("log stream: ended inside a frame");
}
