import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { nsToMs } from "@outrider/nomad-structs";
import type { PlannedCheck } from "./check-plan.ts";

/** What asking a service once gave. */
export interface ProbeResult {
  readonly ok: boolean;
  readonly output: string;
  /** HTTP status; 0 for anything else. */
  readonly statusCode: number;
}

/** Asks a service; never rejects. Ends by `signal`, which also carries the check's time-out. */
export type Probe = (check: PlannedCheck, signal: AbortSignal) => Promise<ProbeResult>;

/** No body of an answer is kept beyond this. */
const MAX_OUTPUT = 3 * 1024;

/** Asks over TCP or HTTP, as the check says. */
export const probeService: Probe = (planned, signal) =>
  planned.check.Type === "http" ? askHttp(planned, signal) : askTcp(planned, signal);

const failed = (planned: PlannedCheck, reason: unknown): ProbeResult => ({
  ok: false,
  output: `nomad: ${planned.check.Type} ${planned.host}:${planned.port}: ${(reason as NodeJS.ErrnoException)?.code ?? (reason instanceof Error ? reason.message : String(reason))}`,
  statusCode: 0,
});

function askTcp(planned: PlannedCheck, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const socket = connect({ host: planned.host, port: planned.port, signal, timeout: nsToMs(planned.check.Timeout) });
    const end = (result: ProbeResult): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once("connect", () => end({ ok: true, output: "nomad: tcp ok", statusCode: 0 }));
    socket.once("timeout", () => end(failed(planned, new Error("no answer in time"))));
    socket.once("error", (reason) => end(failed(planned, reason)));
  });
}

function askHttp(planned: PlannedCheck, signal: AbortSignal): Promise<ProbeResult> {
  const { check } = planned;
  return new Promise((resolve) => {
    const ask = check.Protocol === "https" ? httpsRequest : httpRequest;
    const headers = Object.fromEntries(Object.entries(check.Header ?? {}).map(([k, v]) => [k, [...(v ?? [])]]));
    const request = ask(
      {
        host: planned.host,
        port: planned.port,
        path: check.Path || "/",
        method: check.Method || "GET",
        headers,
        signal,
        agent: false,
        rejectUnauthorized: !check.TLSSkipVerify,
        ...(check.TLSServerName ? { servername: check.TLSServerName } : {}),
      },
      (response) => {
        let size = 0;
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => {
          if (size < MAX_OUTPUT) chunks.push(chunk);
          size += chunk.length;
        });
        response.on("error", (reason) => resolve(failed(planned, reason)));
        response.on("end", () => {
          const code = response.statusCode ?? 0;
          const ok = code >= 200 && code < 300;
          const body = Buffer.concat(chunks).toString("utf8").slice(0, MAX_OUTPUT);
          resolve({ ok, output: ok ? "nomad: http ok" : body || `nomad: http status ${code}`, statusCode: code });
        });
      },
    );
    request.on("error", (reason) => resolve(failed(planned, reason)));
    request.end(check.Body || undefined);
  });
}
