import type { Allocation, TaskState } from "@outrider/nomad-structs";

/**
 * What a server once confirmed of an allocation's client side: the yardstick for the next update.
 * @public
 */
export type AckState = Pick<
  Allocation,
  "ClientStatus" | "ClientDescription" | "DeploymentStatus" | "TaskStates" | "NetworkStatus"
>;

/**
 * All that a client reports of an allocation; nothing else is sent.
 * @public
 */
export type AllocUpdate = AckState & Pick<Allocation, "ID" | "NodeID">;

/**
 * The live state of an allocation on this node: a deep copy, safe to keep and to change.
 * @public
 */
export interface AllocState {
  /** `pending`, `running`, `complete`, `failed`, `lost` or, with no task at all, empty. */
  readonly clientStatus: string;
  readonly clientDescription: string;
  readonly deploymentStatus: Allocation["DeploymentStatus"];
  readonly taskStates: Record<string, TaskState>;
  readonly networkStatus: Allocation["NetworkStatus"];
}
