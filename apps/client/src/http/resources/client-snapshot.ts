import type { AllocDirFS } from "@outrider/allocdir-interface";
import type { ApiContext } from "../api-context.ts";
import type { ApiRequest, ApiResult } from "../api-types.ts";

/**
 * The disk of an allocation as a tar archive, for the node that takes it over. A failure after the beginning is told by the archive's last
 * entry; a reader that is gone ends the work.
 */
export async function sendSnapshot(context: ApiContext, request: ApiRequest, fs: AllocDirFS): Promise<ApiResult> {
  // Whatever is wrong with the folder as a whole still has its status.
  await fs.stat("/");
  const slot = context.waiting.openStream();
  const { raw } = request.reply;
  try {
    request.reply.hijack();
    raw.writeHead(200, {
      "content-type": "application/octet-stream",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    // A reader that closes its half only still reads: the end of the connection counts.
    await fs.snapshot(raw, { signal: AbortSignal.any([request.closed, slot.signal]) });
  } catch {
    // Told by the archive's last entry, or by its breaking off.
  } finally {
    slot.close();
  }
  return { kind: "sent" };
}
