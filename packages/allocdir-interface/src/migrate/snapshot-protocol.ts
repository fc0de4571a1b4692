import type { SnapshotReport } from "../alloc-dir-fs.ts";
import type { ArchiveRequest } from "./archive-writer.ts";

/** Pieces on the way between the worker and the output at most. */
export const MAX_IN_FLIGHT = 4;

/** What a worker is started with. */
export interface SnapshotJob {
  readonly request: ArchiveRequest;
  /** One number: pieces on the way. The worker counts up and waits at {@link MAX_IN_FLIGHT}; its owner counts down. */
  readonly inFlight: Int32Array;
}

/** What a worker tells. */
export type SnapshotMessage =
  | { readonly chunk: Uint8Array<ArrayBuffer> }
  | { readonly report: SnapshotReport }
  | { readonly failure: { readonly code: string; readonly message: string; readonly path: string } };
