/** The agent's side of the log collector, which lives in the driver process. */
import type { CollectRequest } from "@outrider/allocdir-interface/logs";

/** Starts and ends the collection of a task's output. */
export interface LogCollectorClient {
  /**
   * Makes the fifos and begins to read them; idempotent. The collection outlives the agent and serves all restarts of the task.
   * Waits for the driver process to be up.
   */
  start(request: CollectRequest, signal?: AbortSignal): Promise<void>;
  /** Moves what is left and forgets the key. Unknown keys are fine. */
  stop(key: string, signal?: AbortSignal): Promise<void>;
}
