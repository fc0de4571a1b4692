import { timingSafeEqual } from "node:crypto";
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { HttpError } from "./http-error.ts";

/** What a request must prove. */
export interface GuardOptions {
  /** Listening on a unix socket: who can open it may use it, names of hosts mean nothing. */
  readonly unixSocket: boolean;
  /** Names under which this server may be addressed, beside the loopback ones. */
  readonly allowedHosts: readonly string[];
  /** Needed on every request when set. */
  readonly token: string | undefined;
  /** Whether a token is the one with which another node may fetch the disk of this allocation, and nothing else. */
  readonly isDiskToken?: (allocId: string, token: string) => boolean;
}

/** The parts of a request that are looked at. */
export interface GuardedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "::1"]);
const SAFE_SITES = new Set(["same-origin", "none"]);

/**
 * Keeps web pages of others out: a browser tells where a request comes from (`Origin`, `Sec-Fetch-Site`, `Referer`) and whom it
 * believes to talk to (`Host`); only this server itself is accepted. Throws 403, or 400 without a host.
 */
export function guardRequest(request: GuardedRequest, o: GuardOptions): void {
  const host = single(request.headers["host"]);
  if (!o.unixSocket) checkHost(host, o);
  checkOrigin(request, host ?? "");
  if (o.token !== undefined && !hasDiskToken(request, o)) checkToken(request, o.token);
}

function checkHost(host: string | undefined, o: GuardOptions): void {
  if (host === undefined || host === "") throw new HttpError(400, "request has no Host");
  const name = hostName(host);
  if (LOOPBACK.has(name) || o.allowedHosts.includes(name)) return;
  // Whoever has the token is no web page that was tricked by a name; addresses cannot be rebound at all.
  if (o.token !== undefined && isIP(name) !== 0) return;
  throw new HttpError(403, "request is for another host");
}

function checkOrigin(request: GuardedRequest, host: string): void {
  const site = single(request.headers["sec-fetch-site"]);
  if (site !== undefined && !SAFE_SITES.has(site)) throw new HttpError(403, "requests of other sites are refused");
  const origin = single(request.headers["origin"]);
  if (origin !== undefined && !isOwn(origin, host)) throw new HttpError(403, "requests of other origins are refused");
  const referer = single(request.headers["referer"]);
  const changes = request.method !== "GET" && request.method !== "HEAD";
  if (changes && origin === undefined && referer !== undefined && referer !== "" && !isOwn(originOf(referer), host))
    throw new HttpError(403, "requests of other origins are refused");
}

function checkToken(request: GuardedRequest, token: string): void {
  const bearer = /^Bearer (.+)$/i.exec(single(request.headers["authorization"]) ?? "")?.[1];
  const given = single(request.headers["x-nomad-token"]) ?? bearer ?? "";
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  if (!timingSafeEqual(digest(given), digest(token))) throw new HttpError(403, "Permission denied");
}

const SNAPSHOT = /^\/v1\/client\/allocation\/([0-9a-f-]{36})\/snapshot(?:\?|$)/;

function hasDiskToken(request: GuardedRequest, o: GuardOptions): boolean {
  const allocId = request.method === "GET" ? SNAPSHOT.exec(request.url)?.[1] : undefined;
  const token = single(request.headers["x-nomad-token"]);
  return allocId !== undefined && token !== undefined && o.isDiskToken?.(allocId, token) === true;
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function hostName(host: string): string {
  const match = /^\[([^\]]+)\](?::\d+)?$/.exec(host) ?? /^([^:]+)(?::\d+)?$/.exec(host);
  return (match?.[1] ?? host).toLowerCase().replace(/\.$/, "");
}

function isOwn(origin: string, host: string): boolean {
  return (
    origin.toLowerCase() === `http://${host.toLowerCase()}` || origin.toLowerCase() === `https://${host.toLowerCase()}`
  );
}

function originOf(url: string): string {
  try {
    return new URL(url).origin;
  } catch {
    return "null";
  }
}
