import { existsSync } from "node:fs";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { AllocDirError, reasonOf } from "../alloc-dir-error.ts";
import type { SnapshotReport } from "../alloc-dir-fs.ts";
import type { ArchiveRequest } from "./archive-writer.ts";
import { Gate } from "./gate.ts";
import type { SnapshotJob, SnapshotMessage } from "./snapshot-protocol.ts";

/** Snapshots that a process makes at a time; others wait. */
export const MAX_SNAPSHOTS = 4;

const gate = new Gate(MAX_SNAPSHOTS);

/**
 * Writes an archive into a stream and ends it. The work is done by a thread of its own: this one only hands pieces on, and no more of them
 * exist than the stream takes. A failed snapshot has an end with a word on the failure, and rejects; after an abort the stream is destroyed.
 */
export async function writeSnapshot(
  request: ArchiveRequest,
  out: Writable,
  o: { readonly signals: readonly AbortSignal[] },
): Promise<SnapshotReport> {
  const signal = AbortSignal.any([...o.signals]);
  try {
    const release = await gate.enter(signal);
    try {
      return await run(request, out, signal);
    } finally {
      release();
    }
  } catch (reason) {
    if (!out.writableEnded) out.destroy(reason instanceof Error ? reason : undefined);
    throw reason;
  }
}

async function run(request: ArchiveRequest, out: Writable, signal: AbortSignal): Promise<SnapshotReport> {
  signal.throwIfAborted();
  const inFlight = new Int32Array(new SharedArrayBuffer(4));
  const job: SnapshotJob = { request, inFlight };
  const worker = startWorker(job);
  const gone = new AbortController();
  try {
    const last = await new Promise<Exclude<SnapshotMessage, { chunk: unknown }>>((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", onAbort, { once: true });
      finished(out, { readable: false, signal: gone.signal }).then(
        () => reject(new AllocDirError("IO", "the output was ended while the snapshot was written", "")),
        (reason: unknown) => {
          signal.removeEventListener("abort", onAbort);
          reject(reason as Error);
        },
      );
      worker.on("error", reject);
      worker.on("exit", () => reject(new AllocDirError("IO", "the snapshot's thread ended early", "")));
      worker.on("message", (message: SnapshotMessage) => {
        if (!("chunk" in message)) return resolve(message);
        out.write(message.chunk, () => {
          Atomics.sub(inFlight, 0, 1);
          Atomics.notify(inFlight, 0);
        });
      });
    });
    gone.abort();
    await new Promise<void>((resolve, reject) => {
      out.once("error", reject);
      out.end(() => {
        out.off("error", reject);
        resolve();
      });
    });
    if ("report" in last) return last.report;
    const { code, message, path } = last.failure;
    throw new AllocDirError(reasonOf(code), message, path);
  } finally {
    gone.abort();
    await worker.terminate();
  }
}

/** The built worker beside this module, or, when the sources themselves run, its source through tsx. */
function startWorker(job: SnapshotJob): Worker {
  const built = fileURLToPath(new URL("./snapshot-worker.js", import.meta.url));
  const workerData = { snapshot: job };
  if (existsSync(built)) return new Worker(built, { workerData, execArgv: [] });
  const load = `import(${JSON.stringify(import.meta.resolve("tsx/esm/api"))}).then((tsx) => {
    tsx.register();
    return import(${JSON.stringify(new URL("./snapshot-worker.ts", import.meta.url).href)});
  });`;
  return new Worker(load, { eval: true, workerData, execArgv: ["--conditions=@outrider/source"] });
}
