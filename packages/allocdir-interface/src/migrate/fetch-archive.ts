import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { AllocDirError } from "../alloc-dir-error.ts";
import { checkAllocId } from "../names.ts";

/** Silence of the other node after which a fetch is given up, ms. */
export const FETCH_IDLE_MS = 60_000;

/** So much of a refusal is told, bytes. */
const MAX_REFUSAL_BYTES = 1024;

/** Which disk to fetch, and how. @public */
export interface FetchOptions {
  /** Address of the node that has it: `http://10.0.0.7:4646`. */
  readonly address: string;
  /** The allocation whose disk it is. */
  readonly allocId: string;
  /** See {@link migrateToken}. */
  readonly token?: string;
  /** For `https:` addresses. */
  readonly tls?: {
    readonly ca?: string | Buffer;
    readonly cert?: string | Buffer;
    readonly key?: string | Buffer;
    /** The name that the certificate must have: `client.global.nomad`. */
    readonly servername?: string;
  };
  readonly signal: AbortSignal;
}

/** Asks a node for the disk of an allocation. Rejects FETCH when it cannot be reached (recoverable) or refuses; so does the stream when it breaks off. @public */
export async function fetchArchive(o: FetchOptions): Promise<AsyncIterable<Uint8Array>> {
  checkAllocId(o.allocId);
  o.signal.throwIfAborted();
  const url = urlOf(o);
  const response = await ask(url, o);
  if (response.statusCode !== 200) {
    const text = await refusalOf(response);
    throw new AllocDirError(
      "FETCH",
      `${url.host} refuses the disk of ${o.allocId}: ${response.statusCode} ${text}`,
      "",
      {
        details: { status: response.statusCode ?? 0 },
      },
    );
  }
  return piecesOf(response, url, o);
}

function urlOf(o: FetchOptions): URL {
  const path = `/v1/client/allocation/${o.allocId}/snapshot`;
  if (!URL.canParse(path, o.address) || !/^https?:\/\//i.test(o.address)) {
    throw new AllocDirError("FETCH", `address ${JSON.stringify(o.address)} of a node is no http address`, "", {
      details: { field: "address", text: o.address },
    });
  }
  return new URL(path, o.address);
}

function ask(url: URL, o: FetchOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = o.token === undefined ? {} : { "x-nomad-token": o.token };
    const request = url.protocol === "https:" ? httpsRequest : httpRequest;
    const asked = request(url, { headers, agent: false, signal: o.signal, timeout: FETCH_IDLE_MS, ...o.tls });
    asked.on("timeout", () => asked.destroy(new Error(`silent for ${FETCH_IDLE_MS} ms`)));
    asked.on("error", (reason) => reject(o.signal.aborted ? (o.signal.reason as Error) : broken(url, reason)));
    asked.on("response", resolve);
    asked.end();
  });
}

const broken = (url: URL, cause: Error): AllocDirError =>
  new AllocDirError("FETCH", `the disk cannot be fetched from ${url.host}: ${cause.message}`, "", {
    cause,
    recoverable: true,
  });

async function refusalOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      parts.push(part);
      length += part.length;
      if (length >= MAX_REFUSAL_BYTES) break;
    }
  } catch {
    // What came is told.
  }
  const text = Buffer.concat(parts).subarray(0, MAX_REFUSAL_BYTES).toString();
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").trim();
}

async function* piecesOf(response: IncomingMessage, url: URL, o: FetchOptions): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of response as AsyncIterable<Buffer>) yield piece;
  } catch (reason) {
    throw o.signal.aborted ? o.signal.reason : broken(url, reason as Error);
  }
}
