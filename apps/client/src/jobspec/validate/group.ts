import type { TaskGroup } from "@outrider/nomad-structs";
import { nameFault } from "../names.ts";
import { checkNetworks, portLabels } from "./network.ts";
import { checkAffinities, checkConstraints, checkSpreads } from "./placement.ts";
import { checkMigrate, checkReschedule, checkRestart, checkUpdate } from "./policies.ts";
import type { Report } from "./report.ts";
import { checkServices } from "./service.ts";
import { checkTask } from "./task.ts";

/** Most allocations of a group, and of all groups of a job: beyond it a typing error is likelier than a wish. */
export const MAX_COUNT = 10_000;

function checkTasks(group: TaskGroup, r: Report): void {
  const tasks = group.Tasks ?? [];
  if (tasks.length === 0) r.error("group-tasks", "Tasks", "", "needs a task");
  const seen = new Map<string, number>();
  let leaders = 0;
  for (const [i, task] of tasks.entries()) {
    const at = r.at(`Tasks[${i}]`, `task ${JSON.stringify(task.Name)}`);
    const earlier = seen.get(task.Name);
    if (earlier !== undefined) {
      at.error("task-duplicate", "Name", task.Name, `has the name of task ${earlier + 1} of the group`);
    } else seen.set(task.Name, i);
    if (task.Leader) leaders += 1;
    checkTask(task, group, at);
  }
  if (leaders > 1) r.error("leader-twice", "Tasks", leaders, "only one task may be the leader");
  if (tasks.length > 0 && tasks.every((task) => task.Lifecycle !== null)) {
    r.warn("has no main task: each of its tasks has a lifecycle block");
  }
}

function checkVolumes(group: TaskGroup, r: Report): void {
  for (const [name, volume] of Object.entries(group.Volumes ?? {})) {
    const at = r.at(`Volumes.${name}`, `volume ${JSON.stringify(name)}`);
    if (volume.Type !== "host" && volume.Type !== "csi") {
      at.error("volume-type", "Type", volume.Type, `type must be "host" or "csi", got ${JSON.stringify(volume.Type)}`);
    }
    if (volume.Source === "") at.error("volume-source", "Source", "", "needs a source");
  }
}

function checkDurations(group: TaskGroup, r: Report): void {
  const keys = ["ShutdownDelay", "MaxRunDuration", "StopAfterClientDisconnect", "MaxClientDisconnect"] as const;
  for (const key of keys) {
    const value = group[key];
    if (value !== null && value < 0) r.error("negative-duration", key, value, `${key} must not be negative`);
  }
  const disconnect = group.Disconnect;
  if (disconnect === null) return;
  if (disconnect.LostAfter < 0)
    r.error("negative-duration", "Disconnect.LostAfter", disconnect.LostAfter, "lost_after must not be negative");
  if (disconnect.LostAfter > 0 && disconnect.StopOnClientAfter !== null) {
    r.error("disconnect-both", "Disconnect", "", "lost_after and stop_on_client_after exclude each other");
  }
  const words = ["keep_original", "keep_replacement", "best_score", "longest_running"];
  if (!words.includes(disconnect.Reconcile)) {
    r.error(
      "disconnect-reconcile",
      "Disconnect.Reconcile",
      disconnect.Reconcile,
      `reconcile must be one of ${words.join(", ")}`,
    );
  }
}

/** One group of a job. */
export function checkGroup(group: TaskGroup, type: string, r: Report): void {
  const fault = nameFault(group.Name);
  if (fault !== undefined)
    r.error(fault.code, "Name", group.Name, `the group's name ${JSON.stringify(group.Name)} ${fault.message}`);
  if (group.Count < 0) r.error("group-count", "Count", group.Count, "count must not be negative");
  if (group.Count > MAX_COUNT)
    r.error("group-count", "Count", group.Count, `count must not be above ${MAX_COUNT}, got ${group.Count}`);
  if (type === "system" && group.Count > 1)
    r.error("group-count", "Count", group.Count, "a system job runs once on each node: count must be 1");
  checkRestart(group.RestartPolicy, r);
  checkReschedule(group.ReschedulePolicy, type, r);
  checkUpdate(group.Update, type, group.Count, r);
  checkMigrate(group.Migrate, type, r);
  if (group.EphemeralDisk !== null && group.EphemeralDisk.SizeMB < 10) {
    r.error("disk-size", "EphemeralDisk.SizeMB", group.EphemeralDisk.SizeMB, "ephemeral_disk must have at least 10 MB");
  }
  checkConstraints(group.Constraints, r);
  checkAffinities(group.Affinities, r);
  checkSpreads(group.Spreads, r);
  checkNetworks(group.Networks, r);
  checkDurations(group, r);
  checkVolumes(group, r);
  const taskPorts = (group.Tasks ?? []).flatMap((task) => [...portLabels(task.Resources?.Networks ?? null)]);
  checkServices(group.Services, new Set([...portLabels(group.Networks), ...taskPorts]), r);
  checkTasks(group, r);
  const scaling = group.Scaling;
  if (
    scaling !== null &&
    (scaling.Min < 0 || scaling.Max < scaling.Min || group.Count < scaling.Min || group.Count > scaling.Max)
  ) {
    r.error(
      "scaling-bounds",
      "Scaling",
      `${scaling.Min}-${scaling.Max}`,
      `count ${group.Count} must lie within the scaling bounds ${scaling.Min} to ${scaling.Max}`,
    );
  }
  const delayed = group.ShutdownDelay !== null || (group.Tasks ?? []).some((task) => task.ShutdownDelay > 0);
  const services =
    (group.Services?.length ?? 0) + (group.Tasks ?? []).reduce((n, task) => n + (task.Services?.length ?? 0), 0);
  if (services > 0 && !delayed)
    r.warn("has services but no shutdown_delay, so that callers may still come while it stops");
}
