import type { Allocation, Deployment, DesiredUpdates, Job, TaskGroup } from "@outrider/nomad-structs";
import { DesiredUpdatesStruct, isClientTerminal, make } from "@outrider/nomad-structs";
import { decideReschedule, nextTracker } from "./reschedule.ts";
import { tasksUpdated } from "./tasks-updated.ts";

/** Why an allocation is stopped, in Nomad's words. */
export const STOP_NOT_NEEDED = "alloc not needed due to job update";
export const STOP_UPDATING = "alloc is being updated due to job update";
export const STOP_MIGRATING = "alloc is being migrated";
export const STOP_RESCHEDULED = "alloc was rescheduled because it failed";

/** Failures that are due within this time are replaced at once. */
const RESCHEDULE_WINDOW_MS = 1000;

/** An allocation to be stopped. */
export interface StopRequest {
  readonly alloc: Allocation;
  readonly description: string;
  /** Its place is taken by this name. */
  readonly replacedBy?: string;
}

/** A wanted allocation. */
export interface PlaceRequest {
  readonly name: string;
  readonly previous?: Allocation;
  readonly tracker?: Allocation["RescheduleTracker"];
}

/** What is to happen to one group. */
export interface GroupPlan {
  readonly stop: StopRequest[];
  readonly place: PlaceRequest[];
  readonly inPlace: Allocation[];
  /** Failed ones that wait for their delay. */
  readonly later: Array<{ readonly alloc: Allocation; readonly atMs: number }>;
  readonly updates: DesiredUpdates;
  /** Running ones of older versions that must be replaced, but not yet. */
  readonly remaining: number;
}

/** What a group's plan depends on. */
export interface ReconcileInput {
  readonly job: Job;
  readonly group: TaskGroup;
  /** All of the job's allocations of this group. */
  readonly allocs: readonly Allocation[];
  /** The running deployment of this version. */
  readonly deployment: Deployment | undefined;
  readonly nowMs: number;
  readonly forceReschedule: boolean;
}

/** Whether an allocation counts as wanted by the server and not ended on the node. */
export function isLive(alloc: Allocation): boolean {
  return alloc.DesiredStatus === "run" && !isClientTerminal(alloc.ClientStatus);
}

/** Compares what should run of a service or batch group with what does. */
export function reconcileGroup(input: ReconcileInput): GroupPlan {
  const { job, group } = input;
  const plan: GroupPlan = {
    stop: [],
    place: [],
    inPlace: [],
    later: [],
    updates: make(DesiredUpdatesStruct),
    remaining: 0,
  };
  const kept = new Map<number, Allocation>();
  const free: Allocation[] = [];
  const candidates = [...input.allocs].sort((a, b) => a.CreateIndex - b.CreateIndex || (a.Name < b.Name ? -1 : 1));
  for (const alloc of candidates) {
    if (alloc.DesiredStatus !== "run") continue;
    const state = classify(input, alloc);
    if (state === "gone") continue;
    const index = indexOf(alloc.Name);
    if (index >= group.Count || kept.has(index)) free.push(alloc);
    else kept.set(index, alloc);
  }
  for (const alloc of free) {
    if (isClientTerminal(alloc.ClientStatus)) continue;
    plan.stop.push({ alloc, description: STOP_NOT_NEEDED });
    plan.updates.Stop += 1;
  }
  const destructive: Allocation[] = [];
  for (const alloc of kept.values()) keep(input, alloc, plan, destructive);
  for (let index = 0; index < group.Count; index++) {
    if (kept.has(index)) continue;
    plan.place.push({ name: allocName(job, group, index) });
    plan.updates.Place += 1;
  }
  return limited(input, plan, destructive, [...kept.values()]);
}

function keep(input: ReconcileInput, alloc: Allocation, plan: GroupPlan, destructive: Allocation[]): void {
  const { job, group } = input;
  const old = alloc.Job === null || alloc.Job.JobModifyIndex !== job.JobModifyIndex;
  if (isClientTerminal(alloc.ClientStatus) && alloc.ClientStatus !== "failed") {
    plan.updates.Ignore += 1;
  } else if (alloc.ClientStatus === "failed") {
    failed(input, alloc, plan);
  } else if (alloc.DesiredTransition.Migrate === true) {
    plan.stop.push({ alloc, description: STOP_MIGRATING, replacedBy: alloc.Name });
    plan.place.push({ name: alloc.Name, previous: alloc, tracker: alloc.RescheduleTracker });
    plan.updates.Migrate += 1;
  } else if (!old) {
    plan.updates.Ignore += 1;
  } else if (alloc.Job === null || tasksUpdated(alloc.Job, job, group.Name)) {
    destructive.push(alloc);
  } else {
    plan.inPlace.push(alloc);
    plan.updates.InPlaceUpdate += 1;
  }
}

function failed(input: ReconcileInput, alloc: Allocation, plan: GroupPlan): void {
  const policy = input.group.ReschedulePolicy;
  const decision = decideReschedule(alloc, policy);
  const asked = input.forceReschedule || alloc.DesiredTransition.ForceReschedule === true;
  if (policy === null || (decision.kind === "never" && !asked)) {
    plan.updates.Ignore += 1;
    return;
  }
  const atMs = decision.kind === "at" ? decision.atMs : input.nowMs;
  if (asked || atMs <= input.nowMs + RESCHEDULE_WINDOW_MS) {
    plan.stop.push({ alloc, description: STOP_RESCHEDULED, replacedBy: alloc.Name });
    const delayNs = decision.kind === "at" ? decision.delayNs : policy.Delay;
    plan.place.push({ name: alloc.Name, previous: alloc, tracker: nextTracker(alloc, policy, input.nowMs, delayNs) });
    plan.updates.RescheduleNow += 1;
    plan.updates.Place += 1;
  } else {
    plan.later.push({ alloc, atMs });
    plan.updates.RescheduleLater += 1;
  }
}

/** Holds destructive updates back to the update block's `max_parallel`. */
function limited(
  input: ReconcileInput,
  plan: GroupPlan,
  destructive: readonly Allocation[],
  kept: readonly Allocation[],
): GroupPlan {
  const limit = updateLimit(input, kept, plan);
  const now = destructive.slice(0, limit);
  for (const alloc of now) {
    plan.stop.push({ alloc, description: STOP_UPDATING, replacedBy: alloc.Name });
    plan.place.push({ name: alloc.Name, previous: alloc });
  }
  plan.updates.DestructiveUpdate += now.length;
  plan.updates.Ignore += destructive.length - now.length;
  return { ...plan, remaining: destructive.length - now.length };
}

function updateLimit(input: ReconcileInput, kept: readonly Allocation[], plan: GroupPlan): number {
  const update = input.group.Update;
  if (update === null || update.MaxParallel === 0 || input.job.Type === "batch") return Number.MAX_SAFE_INTEGER;
  // A failed or paused roll-out replaces nothing more.
  if (input.deployment !== undefined && (input.deployment.Status === "failed" || input.deployment.Status === "paused"))
    return 0;
  const unproven = kept.filter(
    (alloc) =>
      alloc.Job?.JobModifyIndex === input.job.JobModifyIndex &&
      alloc.DeploymentStatus?.Healthy !== true &&
      isLive(alloc),
  ).length;
  return Math.max(0, update.MaxParallel - unproven - plan.place.length);
}

function classify(input: ReconcileInput, alloc: Allocation): "counts" | "gone" {
  if (!isClientTerminal(alloc.ClientStatus)) return "counts";
  if (alloc.ClientStatus === "lost") return "gone";
  if (alloc.ClientStatus === "failed") return failedCounts(input, alloc);
  // A finished service instance is not what the job asks for; a finished batch one is, for its own version.
  if (input.job.Type !== "batch") return "gone";
  return alloc.Job === null || alloc.Job.CreateIndex !== input.job.CreateIndex || outdatedBatch(input, alloc)
    ? "gone"
    : "counts";
}

/** A failed instance keeps its place: it is replaced by the reschedule policy only, unless the job has changed since. */
function failedCounts(input: ReconcileInput, alloc: Allocation): "counts" | "gone" {
  if (alloc.NextAllocation !== "") return "gone";
  return outdatedBatch(input, alloc) ? "gone" : "counts";
}

function outdatedBatch(input: ReconcileInput, alloc: Allocation): boolean {
  return (
    alloc.Job === null ||
    (alloc.Job.JobModifyIndex !== input.job.JobModifyIndex && tasksUpdated(alloc.Job, input.job, input.group.Name))
  );
}

/** The number in `job.group[3]`. */
export function indexOf(name: string): number {
  return Number(/\[(\d+)\]$/.exec(name)?.[1] ?? Number.MAX_SAFE_INTEGER);
}

/** `job.group[index]`. */
export function allocName(job: Job, group: TaskGroup, index: number): string {
  return `${job.ID}.${group.Name}[${index}]`;
}
