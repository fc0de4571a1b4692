/** Runs in a worker thread: reads a disk with blocking calls, and hands on the archive piece by piece. */
import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { AllocDirError } from "../alloc-dir-error.ts";
import { writeArchive } from "./archive-writer.ts";
import { MAX_IN_FLIGHT, type SnapshotJob, type SnapshotMessage } from "./snapshot-protocol.ts";

/** Serves one snapshot. */
export function serveSnapshot(port: MessagePort, job: SnapshotJob): void {
  const tell = (message: SnapshotMessage): void => {
    port.postMessage(message, "chunk" in message ? [message.chunk.buffer] : []);
  };
  try {
    const report = writeArchive(job.request, (chunk) => {
      for (let count = Atomics.load(job.inFlight, 0); count >= MAX_IN_FLIGHT; count = Atomics.load(job.inFlight, 0))
        Atomics.wait(job.inFlight, 0, count);
      Atomics.add(job.inFlight, 0, 1);
      tell({ chunk });
    });
    tell({ report });
  } catch (reason) {
    const known = reason instanceof AllocDirError;
    const message = reason instanceof Error ? reason.message : String(reason);
    tell({ failure: { code: known ? reason.code : "", message, path: known ? reason.path : "" } });
  }
}

if (parentPort !== null && (workerData as { snapshot?: SnapshotJob } | null)?.snapshot !== undefined) {
  serveSnapshot(parentPort, (workerData as { snapshot: SnapshotJob }).snapshot);
}
