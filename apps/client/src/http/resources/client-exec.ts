import type { ApiContext } from "../api-context.ts";
import type { ApiRequest, ApiResult } from "../api-types.ts";
import { serveExec } from "../exec-session.ts";
import { HttpError } from "../http-error.ts";
import { upgradeOf } from "../upgrades.ts";
import type { NodeHandlers } from "../../node/node-handlers.ts";

/** `/v1/client/allocation/:id/exec`: a websocket to a command that runs beside a task. All failures but that of the websocket itself are close frames. */
export async function execOverWebsocket(
  context: ApiContext,
  request: ApiRequest,
  find: () => { readonly handlers: NodeHandlers; readonly id: string },
): Promise<ApiResult> {
  const { raw } = request.reply.request;
  const upgrade = upgradeOf(raw);
  if (upgrade === undefined || raw.headers.upgrade?.toLowerCase() !== "websocket")
    throw new HttpError(400, "exec is a websocket: the request has no such Upgrade header");
  const slot = context.waiting.openStream();
  request.reply.hijack();
  const token = raw.headers["x-nomad-token"];
  try {
    await serveExec({
      request: raw,
      upgrade,
      clock: context.clock,
      closing: slot.signal,
      handshake: request.params.flag("ws_handshake"),
      token: typeof token === "string" ? token : undefined,
      tty: request.params.text("tty") === "true",
      run: (input, signal) => {
        const { handlers, id } = find();
        const task = request.params.text("task");
        if (task === "") throw new HttpError(400, "must provide task name");
        return handlers.exec(id, { task, command: commandOf(request), tty: request.params.flag("tty") }, input, signal);
      },
    });
  } finally {
    slot.close();
  }
  return { kind: "sent" };
}

function commandOf(request: ApiRequest): string[] {
  let words: unknown;
  try {
    words = JSON.parse(request.params.text("command") || "[]");
  } catch {
    throw new HttpError(400, "command is not a JSON list");
  }
  if (!Array.isArray(words) || !words.every((word) => typeof word === "string"))
    throw new HttpError(400, "command is not a JSON list of texts");
  if (words.length === 0 || words[0] === "") throw new HttpError(400, "command is not present");
  return words;
}
