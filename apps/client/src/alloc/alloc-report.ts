import type { AllocUpdate } from "@outrider/alloc-runner";
import { timeText, type Allocation, type AllocNetworkStatus, type TaskState } from "@outrider/nomad-structs";
import { isClientTerminal } from "@outrider/nomad-structs";
import { copyPlain } from "../copy-plain.ts";
import { findGroup } from "../task/task-lookup.ts";
import type { ClientStatus } from "./client-status.ts";

const NO_NETWORK: AllocNetworkStatus = { InterfaceName: "", Address: "", AddressIPv6: "", DNS: null };

export interface ReportParts {
  readonly alloc: Allocation;
  readonly states: Readonly<Record<string, TaskState>>;
  readonly status: ClientStatus;
  readonly deployment: Allocation["DeploymentStatus"];
  readonly network: AllocNetworkStatus | null;
  readonly nowMs: number;
}

/** What the server is told of an allocation: a deep copy in all parts (client-runtime.md 5.1). */
export function allocReport(parts: ReportParts): AllocUpdate {
  const { alloc, status, network } = parts;
  const terminal = isClientTerminal(status.status);
  const states = copyPlain(parts.states) as Record<string, TaskState>;
  if (terminal) {
    // Rescheduling counts from here.
    for (const state of Object.values(states)) state.FinishedAt ??= timeText(parts.nowMs);
  }
  const unjudged = parts.deployment === null || parts.deployment.Healthy === null;
  const deployment =
    status.status === "failed" && alloc.DeploymentID !== "" && unjudged
      ? {
          Healthy: false,
          Timestamp: null,
          Canary: parts.deployment?.Canary ?? false,
          ModifyIndex: parts.deployment?.ModifyIndex ?? 0,
        }
      : copyPlain(parts.deployment);
  const own = copyPlain(network ?? NO_NETWORK);
  own.DNS ??= copyPlain(findGroup(alloc)?.Networks?.[0]?.DNS ?? null);
  return {
    ID: alloc.ID,
    NodeID: alloc.NodeID,
    ClientStatus: status.status,
    ClientDescription: status.description,
    DeploymentStatus: deployment,
    TaskStates: states,
    NetworkStatus: own,
  };
}
