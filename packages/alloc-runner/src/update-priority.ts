import type { TaskEvent, TaskState } from "@outrider/nomad-structs";
import type { AckState } from "./alloc-state.ts";
import { instantNs } from "./instant.ts";

/** `none`: nothing new for the server. `typical`: can wait for the next full round. `urgent`: goes out at the next tick. @public */
export type UpdatePriority = "none" | "typical" | "urgent";

/**
 * How urgent it is to send `update` when the server last confirmed `ack` (undefined: nothing yet). Pure.
 *
 * Urgent are a changed client status and a first report that is a failure; everything else that differs is typical. Two spellings
 * of one instant are equal, and so are an empty and an absent network status. Differs from Nomad 2.0.5 in one point: `Paused` counts.
 * @public
 */
export function updatePriority(update: AckState, ack: AckState | undefined): UpdatePriority {
  if (ack === undefined) return update.ClientStatus === "failed" ? "urgent" : "typical";
  if (update.ClientStatus !== ack.ClientStatus) return "urgent";
  const same =
    update.ClientDescription === ack.ClientDescription &&
    sameDeployment(update.DeploymentStatus, ack.DeploymentStatus) &&
    sameNetwork(update.NetworkStatus, ack.NetworkStatus) &&
    sameTasks(update.TaskStates, ack.TaskStates);
  return same ? "none" : "typical";
}

function sameDeployment(a: AckState["DeploymentStatus"], b: AckState["DeploymentStatus"]): boolean {
  if (!a || !b) return !a && !b;
  return (
    a.Healthy === b.Healthy &&
    instantNs(a.Timestamp) === instantNs(b.Timestamp) &&
    a.Canary === b.Canary &&
    a.ModifyIndex === b.ModifyIndex
  );
}

function sameNetwork(a: AckState["NetworkStatus"], b: AckState["NetworkStatus"]): boolean {
  return networkKey(a) === networkKey(b);
}

function networkKey(status: AckState["NetworkStatus"]): string {
  const dns = status?.DNS;
  const lists = [dns?.Servers ?? [], dns?.Searches ?? [], dns?.Options ?? []];
  const words = status === null ? ["", "", ""] : [status.InterfaceName, status.Address, status.AddressIPv6];
  return JSON.stringify([words, lists]);
}

function sameTasks(a: AckState["TaskStates"], b: AckState["TaskStates"]): boolean {
  const [left, right] = [a ?? {}, b ?? {}];
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every(
    (name) => Object.hasOwn(right, name) && sameTask(left[name] as TaskState, right[name] as TaskState),
  );
}

function sameTask(a: TaskState, b: TaskState): boolean {
  const [left, right] = [a.Events ?? [], b.Events ?? []];
  return (
    a.State === b.State &&
    a.Failed === b.Failed &&
    a.Restarts === b.Restarts &&
    a.Paused === b.Paused &&
    instantNs(a.LastRestart) === instantNs(b.LastRestart) &&
    instantNs(a.StartedAt) === instantNs(b.StartedAt) &&
    instantNs(a.FinishedAt) === instantNs(b.FinishedAt) &&
    left.length === right.length &&
    left.every((event, i) => sameEvent(event, right[i] as TaskEvent))
  );
}

function sameEvent(a: TaskEvent, b: TaskEvent): boolean {
  return (
    a.Type === b.Type &&
    instantNs(a.Time) === instantNs(b.Time) &&
    a.Message === b.Message &&
    a.DisplayMessage === b.DisplayMessage &&
    sameDetails(a.Details ?? {}, b.Details ?? {})
  );
}

function sameDetails(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}
