import { once } from "node:events";
import type { FileReader } from "@outrider/allocdir-interface";
import type { ApiContext } from "./api-context.ts";
import type { ApiRequest, ApiResult } from "./api-types.ts";

const CHUNK_BYTES = 65_536;

/** Content of tasks is foreign: no browser may run anything of it in this server's name. */
const SAFE_HEADERS = {
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  "x-content-type-options": "nosniff",
  "x-xss-protection": "1; mode=block",
} as const;

/** Sends what a reader has, at most `limit` bytes (0: all); closes it. */
export async function sendFile(
  context: ApiContext,
  request: ApiRequest,
  reader: FileReader,
  contentType: string,
  limit: number,
): Promise<ApiResult> {
  await using open = reader;
  const slot = context.waiting.openStream();
  const { raw } = request.reply;
  try {
    let left = limit > 0 ? limit : Number.POSITIVE_INFINITY;
    let data = await open.read(Math.min(CHUNK_BYTES, left));
    request.reply.hijack();
    raw.writeHead(200, { "content-type": safeType(contentType), ...SAFE_HEADERS });
    while (data.length > 0 && !raw.destroyed && !slot.signal.aborted) {
      left -= data.length;
      if (!raw.write(data))
        await once(raw, "drain", { signal: AbortSignal.any([request.closed, slot.signal]) }).catch(() => undefined);
      if (left <= 0) break;
      data = await open.read(Math.min(CHUNK_BYTES, left));
    }
    raw.end();
    return { kind: "sent" };
  } catch (reason) {
    if (!raw.headersSent) throw reason;
    raw.destroy();
    return { kind: "sent" };
  } finally {
    slot.close();
  }
}

function safeType(contentType: string): string {
  return /^text\/(x?html|xhtml)/i.test(contentType) || contentType === "" ? "text/plain; charset=utf-8" : contentType;
}
