import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { HttpError } from "./http-error.ts";

/** What a client may still send after its request was found broken, before the connection is cut. */
const DRAIN_BYTES = 4 * 2 ** 20;
const DRAIN_IDLE_MS = 500;
/** A request line whose only fault may be its method. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [/*]\S* HTTP\/1\.[01]\r?\n/;

/** What Node's parser tells of a failure. */
export interface ParserError {
  readonly code?: string | undefined;
  readonly reason?: string | undefined;
  readonly rawPacket?: Buffer | undefined;
}

/**
 * Answers what was no request at all: the parser of HTTP gave up, or the client was too slow. There is no request to reply to,
 * so the answer is written on the connection, in the form of every other error: a status and plain text.
 */
export function answerBrokenRequest(reason: ParserError, socket: Socket): void {
  // Half an answer is on its way already: more text would become a part of it.
  const pending = (socket as { readonly _httpMessage?: { readonly headersSent: boolean } | null })._httpMessage;
  if (reason.code === "ECONNRESET" || !socket.writable || pending?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { status, message } = describeParserError(reason);
  writeError(socket, status, message);
  drain(socket);
}

/** Writes an answer on a connection that has no request, and ends it. */
export function writeError(socket: Socket, status: number, message: string): void {
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}\r\n` +
      "Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n" +
      `Content-Length: ${Buffer.byteLength(message)}\r\n\r\n${message}`,
  );
}

/** Status and text for a failure of the parser. */
export function describeParserError(reason: ParserError): { readonly status: number; readonly message: string } {
  switch (reason.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, message: "408 Request Timeout: the request did not arrive in time" };
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, message: "431 Request Header Fields Too Large" };
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return { status: 413, message: "413 Payload Too Large: the extensions of a chunk are too long" };
    case "HPE_INVALID_VERSION":
      return { status: 505, message: "505 HTTP Version Not Supported: this server speaks HTTP/1.1" };
    case "HPE_INVALID_METHOD":
      if (REQUEST_LINE.test(reason.rawPacket?.toString("latin1") ?? ""))
        return { status: 405, message: "Invalid method" };
      break;
    default:
  }
  // What the parser says of the place is its own text, never the client's.
  const why = reason.code?.startsWith("HPE_") === true && reason.reason ? `: ${reason.reason}` : "";
  return { status: 400, message: `400 Bad Request${why}` };
}

/** What the framework refuses before a resource sees it: a path that cannot be decoded, or with too long a part. */
export function toPathError(reason: { readonly code?: string; readonly statusCode?: number }): HttpError {
  if (reason.code === "FST_ERR_BAD_URL") return new HttpError(400, "400 Bad Request: the path is not validly encoded");
  if (reason.code === "FST_ERR_MAX_PARAM_LENGTH") return new HttpError(414, "a part of the path is too long");
  return new HttpError(reason.statusCode ?? 500, "the request cannot be served");
}

/** Closing while the client still sends would reset the connection, and the answer might be lost: the rest is read for a while. */
function drain(socket: Socket): void {
  let left = DRAIN_BYTES;
  socket.removeAllListeners("data");
  socket.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  socket.once("end", () => socket.destroy());
  socket.setTimeout(DRAIN_IDLE_MS, () => socket.destroy());
  socket.resume();
}
