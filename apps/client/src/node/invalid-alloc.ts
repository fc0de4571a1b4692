import type { AllocUpdate } from "@outrider/alloc-runner";
import type { Allocation, TaskState } from "@outrider/nomad-structs";
import { make, TaskStateStruct } from "@outrider/nomad-structs";

/** What is reported of an allocation that cannot be run at all: failed, every task ended, unhealthy unless health was set before. */
export function invalidUpdate(alloc: Allocation, nodeId: string, reason: unknown, nowMs: number): AllocUpdate {
  const now = new Date(nowMs).toISOString();
  const group = alloc.Job?.TaskGroups?.find((g) => g.Name === alloc.TaskGroup);
  const states: Record<string, TaskState> = { ...alloc.TaskStates };
  for (const task of group?.Tasks ?? []) {
    const state = states[task.Name] ?? make(TaskStateStruct);
    states[task.Name] = { ...state, State: "dead", Failed: true, FinishedAt: state.FinishedAt ?? now };
  }
  const health = alloc.DeploymentStatus;
  return {
    ID: alloc.ID,
    NodeID: nodeId,
    ClientStatus: "failed",
    ClientDescription: `Unable to add allocation due to error: ${reason instanceof Error ? reason.message : String(reason)}`,
    TaskStates: states,
    DeploymentStatus:
      health !== null && health.Healthy !== null
        ? health
        : { Healthy: false, Timestamp: now, Canary: health?.Canary ?? false, ModifyIndex: health?.ModifyIndex ?? 0 },
    NetworkStatus: alloc.NetworkStatus,
  };
}
