import type { StreamFrame } from "@outrider/allocdir-interface";
import { once } from "node:events";
import type { ApiContext } from "./api-context.ts";
import type { ApiRequest, ApiResult } from "./api-types.ts";

/** A client that hears nothing for so long gets an empty frame, ms. */
export const HEARTBEAT_MS = 1000;

interface FrameStream {
  readonly contentType: string;
  readonly plain: boolean;
  /** Whether it goes on at the end of what there is: such a stream ends when its client has finished sending. */
  readonly follow: boolean;
  readonly frames: (signal: AbortSignal) => AsyncIterable<StreamFrame>;
}

/**
 * Sends frames as they come: JSON objects one after another, or the bare bytes. The first frame, or failure, is waited for before
 * anything is sent, so that errors have their status. A slow reader slows the source down; a reader that is gone ends it.
 */
export async function sendFrames(context: ApiContext, request: ApiRequest, o: FrameStream): Promise<ApiResult> {
  const slot = context.waiting.openStream();
  const stop = new AbortController();
  const signal = AbortSignal.any([o.follow ? request.signal : request.closed, slot.signal, stop.signal]);
  const iterator = o.frames(signal)[Symbol.asyncIterator]();
  try {
    const { raw } = request.reply;
    let pending = iterator.next();
    const early = await Promise.race([pending.then((result) => ({ result })), settled(context, 200, signal)]);
    request.reply.hijack();
    raw.writeHead(200, {
      "content-type": o.contentType,
      "x-content-type-options": "nosniff",
      "cache-control": "no-cache",
      vary: "Accept-Encoding",
    });
    raw.flushHeaders();
    if (early !== undefined) {
      if (early.result.done === true) {
        raw.end();
        return { kind: "sent" };
      }
      await write(request, framePieces(early.result.value, o.plain), signal);
      pending = iterator.next();
    }
    await pump(context, request, o, iterator, pending, signal);
    if (!raw.destroyed) raw.end();
    return { kind: "sent" };
  } catch (reason) {
    if (!request.reply.raw.headersSent) throw reason;
    // Half an answer was given: only breaking it off tells the client that it is not whole.
    request.reply.raw.destroy();
    return { kind: "sent" };
  } finally {
    stop.abort(new DOMException("the stream ended", "AbortError"));
    slot.close();
    await iterator.return?.(undefined).catch(() => undefined);
  }
}

async function pump(
  context: ApiContext,
  request: ApiRequest,
  o: FrameStream,
  iterator: AsyncIterator<StreamFrame>,
  first: Promise<IteratorResult<StreamFrame>>,
  signal: AbortSignal,
): Promise<void> {
  let pending = first;
  for (;;) {
    const next = await Promise.race([pending, settled(context, HEARTBEAT_MS, signal)]);
    if (signal.aborted) {
      await pending.catch(() => undefined);
      return;
    }
    if (next === undefined) {
      if (!o.plain) await write(request, ["{}"], signal);
      continue;
    }
    if (next.done === true) return;
    await write(request, framePieces(next.value, o.plain), signal);
    pending = iterator.next();
  }
}

function settled(context: ApiContext, ms: number, signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const done = (): void => {
      context.clock.clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve(undefined);
    };
    const timer = context.clock.setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}

async function write(request: ApiRequest, parts: readonly (string | Uint8Array)[], signal: AbortSignal): Promise<void> {
  const { raw } = request.reply;
  if (raw.destroyed) return;
  let room = true;
  raw.cork();
  // Everything but a file's name is ASCII, and base64 by far the longest: bytes as they are need no look at each.
  for (const part of parts) if (part.length > 0) room = raw.write(part, part === parts[1] ? "latin1" : "utf8");
  raw.uncork();
  if (!room) await once(raw, "drain", { signal }).catch(() => undefined);
}

/** One frame as it is sent: only the keys that say something. The data stand apart, so that they are not copied once more. */
export function framePieces(frame: StreamFrame, plain: boolean): readonly (string | Uint8Array)[] {
  const { data, offset = 0, file = "", fileEvent } = frame;
  if (plain) return data === undefined ? [] : [data];
  const rest = JSON.stringify({
    ...(file === "" ? {} : { File: file }),
    ...(fileEvent === undefined ? {} : { FileEvent: fileEvent }),
  });
  const head = offset === 0 ? "{" : `{"Offset":${offset}`;
  const tail = rest === "{}" ? "}" : rest.slice(1);
  if (data === undefined || data.length === 0) return [`${head}${offset === 0 || rest === "{}" ? "" : ","}`, "", tail];
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  return [`${head}${offset === 0 ? "" : ","}"Data":"`, text, `"${rest === "{}" ? "" : ","}${tail}`];
}
