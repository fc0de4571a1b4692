import type { Allocation } from "@outrider/nomad-structs";
import { DesiredUpdatesStruct, isClientTerminal, make } from "@outrider/nomad-structs";
import {
  allocName,
  isLive,
  STOP_NOT_NEEDED,
  STOP_MIGRATING,
  STOP_UPDATING,
  type GroupPlan,
  type ReconcileInput,
} from "./reconcile.ts";
import { tasksUpdated } from "./tasks-updated.ts";

/** Compares what should run of a system or sysbatch group, which is one instance on the node, with what does. */
export function reconcileSystemGroup(input: ReconcileInput): GroupPlan {
  const { job, group } = input;
  const plan: GroupPlan = {
    stop: [],
    place: [],
    inPlace: [],
    later: [],
    updates: make(DesiredUpdatesStruct),
    remaining: 0,
  };
  const name = allocName(job, group, 0);
  const live = input.allocs.filter(isLive).sort((a, b) => a.CreateIndex - b.CreateIndex);
  const [current, ...others] = live;
  for (const alloc of others) {
    plan.stop.push({ alloc, description: STOP_NOT_NEEDED });
    plan.updates.Stop += 1;
  }
  if (current === undefined) {
    if (job.Type === "sysbatch" && input.allocs.some((alloc) => finished(input, alloc))) plan.updates.Ignore += 1;
    else {
      plan.place.push({ name });
      plan.updates.Place += 1;
    }
  } else if (current.DesiredTransition.Migrate === true) {
    plan.stop.push({ alloc: current, description: STOP_MIGRATING, replacedBy: name });
    plan.place.push({ name, previous: current });
    plan.updates.Migrate += 1;
  } else if (current.Job?.JobModifyIndex === job.JobModifyIndex) {
    plan.updates.Ignore += 1;
  } else if (current.Job === null || tasksUpdated(current.Job, job, group.Name)) {
    plan.stop.push({ alloc: current, description: STOP_UPDATING, replacedBy: name });
    plan.place.push({ name, previous: current });
    plan.updates.DestructiveUpdate += 1;
  } else {
    plan.inPlace.push(current);
    plan.updates.InPlaceUpdate += 1;
  }
  return plan;
}

/** Ended for this version: complete, or failed (its restart policy was its chance). */
function finished(input: ReconcileInput, alloc: Allocation): boolean {
  return (
    alloc.DesiredStatus === "run" &&
    isClientTerminal(alloc.ClientStatus) &&
    alloc.Job?.JobModifyIndex === input.job.JobModifyIndex
  );
}
