import { createFileBelow } from "@outrider/allocdir-interface/local";
import { createHash } from "node:crypto";
import type { TaskPlace } from "../task-place.ts";
import type { ArtifactSource } from "./artifact-source.ts";

/** Nomad's own limit of an artifact's size. */
export const MAX_ARTIFACT_BYTES = 100 * 2 ** 30;

/** Follows redirects of http and https only, so that no other scheme is reached through one. */
const MAX_REDIRECTS = 10;

/** Fetches one file into the task's folder; the file is there whole, or not at all. Rejects at once when the signal aborts. */
export async function download(
  source: ArtifactSource,
  o: {
    readonly place: TaskPlace;
    readonly headers: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
    readonly maxBytes?: number;
  },
): Promise<void> {
  const response = await follow(source.url, o);
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`bad response code: ${response.status}`);
  }
  await using file = await createFileBelow(o.place.root, o.place.path, { mode: 0o644 });
  const hash = source.checksum === undefined ? undefined : createHash(source.checksum.algorithm);
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > (o.maxBytes ?? MAX_ARTIFACT_BYTES))
      throw new Error(`artifact is larger than ${o.maxBytes ?? MAX_ARTIFACT_BYTES} bytes`);
    hash?.update(chunk);
    await file.handle.writeFile(chunk);
  }
  const digest = hash?.digest("hex");
  if (digest !== undefined && digest !== source.checksum?.hex)
    throw new Error(`checksums did not match: expected ${source.checksum?.hex}, got ${digest}`);
  await file.commit();
}

async function follow(
  url: string,
  o: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<Response> {
  let at = new URL(url);
  let headers = { ...o.headers, ...credentials(at) };
  for (let i = 0; i <= MAX_REDIRECTS; i++) {
    const response = await ask(at, headers, o.signal);
    const target = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (target === null) return response;
    await response.body?.cancel();
    const next = new URL(target, at);
    if (next.protocol !== "http:" && next.protocol !== "https:")
      throw new Error(`redirect to the scheme ${JSON.stringify(next.protocol)} is not followed`);
    // What the job gave for one host is not shown to another.
    if (next.origin !== at.origin) headers = {};
    headers = { ...headers, ...credentials(next) };
    at = next;
  }
  throw new Error(`more than ${MAX_REDIRECTS} redirects`);
}

async function ask(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
  try {
    // As it is stored there: what the server packs on the way would not match a checksum.
    return await fetch(url, { redirect: "manual", headers: { "accept-encoding": "identity", ...headers }, signal });
  } catch (reason) {
    if (signal.aborted) throw signal.reason;
    const cause = reason instanceof Error && reason.cause instanceof Error ? reason.cause : reason;
    throw new Error(`Get ${JSON.stringify(url.href)}: ${(cause as NodeJS.ErrnoException).code ?? String(cause)}`, {
      cause: reason,
    });
  }
}

/** Takes name and password out of a URL. */
function credentials(url: URL): { readonly authorization?: string } {
  if (url.username === "" && url.password === "") return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = "";
  url.password = "";
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}
