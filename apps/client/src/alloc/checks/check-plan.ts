import type { Allocation, Service, ServiceCheck, Task } from "@outrider/nomad-structs";
import { createHash } from "node:crypto";
import { serviceAddress } from "../services/service-address.ts";

/** One check of a service, with its address; made anew from each version of the job. */
export interface PlannedCheck {
  readonly id: string;
  readonly service: Service;
  readonly check: ServiceCheck;
  /** Shown name: the check's own, or one made of the service's. */
  readonly name: string;
  /** Empty for a service of the group. */
  readonly task: string;
  /** The task that failing restarts: empty for all of the group, undefined when the check restarts nothing. */
  readonly restarts: string | undefined;
  readonly host: string;
  readonly port: number;
}

/** A check that cannot be made: the service, the check and why. */
export interface CheckFault {
  readonly service: string;
  readonly check: string;
  readonly reason: string;
}

/** Every native check of an allocation's group and tasks. */
export function planChecks(
  alloc: Allocation,
  replace: (text: string) => string,
): { readonly checks: readonly PlannedCheck[]; readonly faults: readonly CheckFault[] } {
  const group = alloc.Job?.TaskGroups?.find((g) => g.Name === alloc.TaskGroup);
  const checks: PlannedCheck[] = [];
  const faults: CheckFault[] = [];
  const add = (service: Service, task: Task | undefined): void => {
    if (service.Provider !== "nomad") return;
    for (const check of service.Checks ?? []) {
      const name = check.Name || `service: ${JSON.stringify(service.Name)} check`;
      const address = serviceAddress(alloc, service, check.PortLabel || service.PortLabel, replace);
      if (address === undefined) {
        faults.push({
          service: service.Name,
          check: name,
          reason: `port ${JSON.stringify(check.PortLabel || service.PortLabel)} is not one of the group's`,
        });
        continue;
      }
      const owner = task?.Name ?? "";
      const restarts =
        check.CheckRestart === null || check.CheckRestart.Limit <= 0
          ? undefined
          : check.TaskName || service.TaskName || owner;
      const id = createHash("sha256")
        .update(JSON.stringify([alloc.ID, alloc.TaskGroup, owner, service.Name, check]))
        .digest("hex");
      checks.push({ id, service, check, name, task: owner, restarts, ...address });
    }
  };
  for (const service of group?.Services ?? []) add(service, undefined);
  for (const task of group?.Tasks ?? []) for (const service of task.Services ?? []) add(service, task);
  return { checks, faults };
}
