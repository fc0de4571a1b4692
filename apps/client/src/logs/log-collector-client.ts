/** The agent's side of the log collector, which lives in the driver process. */

import type { CollectRequest } from "@outrider/allocdir-interface/logs";

/** The output of one task, and where it goes. */
export interface CollectedOutput extends Omit<CollectRequest, "key"> {
  /** `<alloc id>/<task name>`: the collection serves all restarts of the task. */
  readonly id: string;
}

/** Starts and ends the collection of a task's output. It outlives the agent. */
export interface LogCollectorClient {
  /** Makes the fifos and begins to read them; idempotent. Starts the driver process if need be. */
  start(output: CollectedOutput, signal?: AbortSignal): Promise<void>;
  /** Moves what is left and forgets the id. Unknown ids are fine. */
  stop(id: string, signal?: AbortSignal): Promise<void>;
}
