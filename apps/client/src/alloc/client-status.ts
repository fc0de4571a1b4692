import type { TaskState } from "@outrider/nomad-structs";

/** Words for the whole allocation. */
export interface ClientStatus {
  readonly status: string;
  readonly description: string;
}

/** The description of an allocation that ran into its `max_run_duration`. */
export const MAX_RUN_EXCEEDED = "allocation exceeded max_run_duration";

/** The status of an allocation from the states of its tasks (client-runtime.md 5.1). */
export function clientStatusOf(
  states: readonly TaskState[],
  overrides: { readonly forced?: ClientStatus | undefined; readonly maxRunExceeded?: boolean } = {},
): ClientStatus {
  if (overrides.forced !== undefined) return overrides.forced;
  if (overrides.maxRunExceeded === true) return { status: "complete", description: MAX_RUN_EXCEEDED };
  const some = (state: string): boolean => states.some((s) => s.State === state);
  if (states.some((s) => s.State === "dead" && s.Failed)) return { status: "failed", description: "Failed tasks" };
  if (some("running")) return { status: "running", description: "Tasks are running" };
  if (some("pending")) return { status: "pending", description: "No tasks have started" };
  if (some("dead")) return { status: "complete", description: "All tasks have completed" };
  return { status: "", description: "" };
}
