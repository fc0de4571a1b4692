import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";

/** One recorded call of a stock command line tool. */
interface Exchange {
  readonly via?: "addr" | "node";
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  readonly request_body?: unknown;
  readonly response_headers?: Record<string, string>;
  readonly response_body?: unknown;
  readonly response_body_text?: string;
  readonly frames?: { readonly ms: number; readonly json?: unknown; readonly text?: string }[];
}

export interface Recording {
  readonly command: string;
  readonly exit_code: number | string;
  readonly stdout: string;
  readonly stderr: string;
  readonly exchanges: readonly Exchange[];
}

export const recording = (name: string): Recording =>
  JSON.parse(readFileSync(new URL(`../fixtures/cli/${name}.json`, import.meta.url), "utf8")) as Recording;

/** The same call whatever the order of its parameters; the region is only a hint of the tool. */
const normal = (method: string, path: string): string => {
  const url = new URL(path, "http://x");
  url.searchParams.delete("region");
  url.searchParams.sort();
  return `${method} ${url.pathname}?${url.searchParams.toString()}`;
};

/** Answers what a real agent answered, each recorded call once and in order; the last one of a kind again and again. */
export async function replayAgent(
  record: Recording,
  o: { settled?: () => boolean } = {},
): Promise<{
  address: string;
  asked: string[];
  missed: string[];
  unused: () => string[];
  bodies: unknown[];
  close(): Promise<void>;
}> {
  const left = new Map<string, Exchange[]>();
  for (const e of record.exchanges) {
    const key = normal(e.method, e.path);
    left.set(key, [...(left.get(key) ?? []), e]);
  }
  const asked: string[] = [];
  const missed: string[] = [];
  const bodies: unknown[] = [];
  const used = new Set<Exchange>();
  const server: Server = createServer((request, response) => {
    const key = normal(request.method ?? "", request.url ?? "");
    asked.push(key);
    const chunks: Buffer[] = [];
    request.on("data", (c: Buffer) => chunks.push(c));
    request.on("end", () => {
      if (chunks.length > 0) bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
      const queue = left.get(key);
      const e = queue === undefined ? undefined : queue.length > 1 ? queue.shift() : queue[0];
      if (e === undefined) {
        missed.push(key);
        response.writeHead(404).end("not recorded");
        return;
      }
      used.add(e);
      if (e.status === null) return; // the tool hung up first
      response.writeHead(e.status, { ...e.response_headers, "content-type": "application/json" });
      if (e.frames) {
        const write = (f: { json?: unknown; text?: string }): unknown =>
          response.write(f.json === undefined ? (f.text ?? "") : JSON.stringify(f.json));
        for (const f of e.frames.filter((x) => x.ms <= 1000)) write(f);
        // A follower shows the end of what there is after a second; what comes later follows then.
        const rest = (): void => {
          if (o.settled?.() === false) return void setImmediate(rest);
          for (const f of (e.frames ?? []).filter((x) => x.ms > 1000)) write(f);
          response.end();
        };
        rest();
      } else
        response.end(e.response_body === undefined ? (e.response_body_text ?? "") : JSON.stringify(e.response_body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    missed,
    bodies,
    unused: () => record.exchanges.filter((e) => !used.has(e) && e.status !== null).map((e) => `${e.method} ${e.path}`),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
