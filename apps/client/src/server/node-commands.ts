import { isDeepStrictEqual } from "node:util";
import type { Node, NodeEvent } from "@outrider/nomad-structs";
import { unblockAll } from "./alloc-updates.ts";
import { createEval } from "./evaluations.ts";
import { refreshJobStatus } from "./job-status.ts";
import { serverError } from "./server-error.ts";
import type { Tx } from "./tx.ts";

/** Events of a node that are kept. */
export const KEPT_NODE_EVENTS = 10;

/** Stores what a node announces of itself; the server keeps status, eligibility, events and indexes. */
export function registerNode(tx: Tx, announced: Node): void {
  const old = tx.nodes.get(announced.ID);
  const status = announced.Status === "" ? "initializing" : announced.Status;
  const node: Node = {
    ...announced,
    Status: old?.Status ?? status,
    StatusDescription: old?.StatusDescription ?? "",
    StatusUpdatedAt: old?.StatusUpdatedAt ?? Math.floor(tx.nowMs / 1000),
    SchedulingEligibility:
      old?.SchedulingEligibility ??
      (announced.SchedulingEligibility === "" ? "eligible" : announced.SchedulingEligibility),
    DrainStrategy: old?.DrainStrategy ?? null,
    LastDrain: old?.LastDrain ?? null,
    Events: old?.Events ?? [nodeEvent(tx, "Cluster", "Node registered")],
    LastAllocUpdateIndex: old?.LastAllocUpdateIndex ?? 0,
    LastMissedHeartbeatIndex: old?.LastMissedHeartbeatIndex ?? 0,
    CreateIndex: old?.CreateIndex ?? tx.index,
    ModifyIndex: tx.index,
  };
  if (old !== undefined && isDeepStrictEqual({ ...old, ModifyIndex: 0 }, { ...node, ModifyIndex: 0 })) return;
  // Another identity on this machine (a fresh data folder beside old server state) replaces the former node.
  for (const other of tx.nodes.all())
    if (other.ID !== node.ID)
      tx.nodes.put(other.ID, { ...other, Status: "down", SchedulingEligibility: "ineligible", ModifyIndex: tx.index });
  tx.nodes.put(node.ID, node);
  tx.event("Node", "NodeRegistration", node.ID, "", { Node: withoutSecret(node) });
  unblockAll(tx);
}

/** Sets the status of a node. Becoming ready wakes what waits for a node. */
export function setNodeStatus(tx: Tx, id: string, status: string, newId: () => string): void {
  const node = tx.nodes.get(id);
  if (node === undefined) throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "node not found", { node: id });
  if (node.Status === status) return;
  const next = { ...node, Status: status, StatusUpdatedAt: Math.floor(tx.nowMs / 1000), ModifyIndex: tx.index };
  tx.nodes.put(id, next);
  tx.event("Node", "NodeHeartbeat", id, "", { Node: withoutSecret(next) });
  if (status === "ready") wakeNode(tx, newId);
}

/** Opens or closes a node for new allocations. */
export function setEligibility(tx: Tx, id: string, eligibility: string, newId: () => string): void {
  const node = tx.nodes.get(id);
  if (node === undefined) throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "node not found", { node: id });
  if (eligibility !== "eligible" && eligibility !== "ineligible")
    throw serverError("ERR_OUTRIDER_SERVER_INVALID", `invalid scheduling eligibility ${JSON.stringify(eligibility)}`, {
      node: id,
    });
  if (node.SchedulingEligibility === eligibility) return;
  const text =
    eligibility === "eligible" ? "Node marked as eligible for scheduling" : "Node marked as ineligible for scheduling";
  const next = {
    ...node,
    SchedulingEligibility: eligibility,
    Events: [...(node.Events ?? []), nodeEvent(tx, "Cluster", text)].slice(-KEPT_NODE_EVENTS),
    ModifyIndex: tx.index,
  };
  tx.nodes.put(id, next);
  tx.event("Node", "NodeEligibility", id, "", { Node: withoutSecret(next) });
  if (eligibility === "eligible") wakeNode(tx, newId);
}

/** Adds events that a node reports. */
export function addNodeEvents(tx: Tx, id: string, events: readonly NodeEvent[]): void {
  const node = tx.nodes.get(id);
  if (node === undefined) return;
  const added = events.map((event) => ({ ...event, CreateIndex: tx.index }));
  const next = { ...node, Events: [...(node.Events ?? []), ...added].slice(-KEPT_NODE_EVENTS), ModifyIndex: tx.index };
  tx.nodes.put(id, next);
  tx.event("Node", "NodeEvent", id, "", { Node: withoutSecret(next) });
}

/** The node as others may see it. */
export function withoutSecret(node: Node): Node {
  return { ...node, SecretID: "" };
}

function nodeEvent(tx: Tx, subsystem: string, message: string): NodeEvent {
  return {
    Message: message,
    Subsystem: subsystem,
    Details: null,
    Timestamp: new Date(tx.nowMs).toISOString(),
    CreateIndex: tx.index,
  };
}

/** Everything that waits for room, and jobs that run on every node. */
function wakeNode(tx: Tx, newId: () => string): void {
  unblockAll(tx);
  for (const job of tx.jobs.all()) {
    if (
      (job.Type === "system" || job.Type === "sysbatch") &&
      !job.Stop &&
      job.Periodic === null &&
      job.ParameterizedJob === null
    ) {
      createEval(tx, newId(), job, "node-update");
      refreshJobStatus(tx, job.Namespace, job.ID);
    }
  }
}
