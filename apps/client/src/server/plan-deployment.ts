import type { Deployment, Job, TaskGroup } from "@outrider/nomad-structs";
import {
  countPlaced,
  isDeployed,
  isDeploymentActive,
  latestDeployment,
  markStable,
  newDeployment,
  newDeploymentState,
  putDeployment,
} from "./deployments.ts";
import type { GroupPlan } from "./reconcile.ts";
import type { Tx } from "./tx.ts";

/** The deployment of a job's version while a plan is made for it: taken over or begun, counted, finished or cancelled. */
export class PlanDeployment {
  readonly #tx: Tx;
  #current: Deployment | undefined;
  #touched = false;

  constructor(tx: Tx) {
    this.#tx = tx;
  }

  get current(): Deployment | undefined {
    return this.#current;
  }

  /** Whether one was written. */
  get touched(): boolean {
    return this.#touched;
  }

  /** The job is stopped, and its deployment with it. */
  cancel(job: Job): void {
    const latest = latestDeployment(this.#tx, job);
    this.#current = latest;
    if (latest === undefined || !isDeploymentActive(latest)) return;
    this.#current = this.#put({
      ...latest,
      Status: "cancelled",
      StatusDescription: "Cancelled because job is stopped",
    });
  }

  /** Takes over the one of the job's version; that of an earlier version is cancelled. */
  adopt(job: Job): void {
    const latest = latestDeployment(this.#tx, job);
    if (latest === undefined) return;
    if (latest.JobVersion === job.Version) this.#current = latest;
    else if (isDeploymentActive(latest))
      this.#put({ ...latest, Status: "cancelled", StatusDescription: "Cancelled due to newer version of job" });
  }

  /** Begins one if there is none and the plans change an instance of a group that is deployed. */
  begin(job: Job, plans: ReadonlyArray<readonly [TaskGroup, GroupPlan]>, newId: () => string): void {
    if (this.#current !== undefined) return;
    const deployed = plans.filter(([group]) => isDeployed(job, group));
    const changes = deployed.some(([, plan]) => plan.place.length > 0 || plan.inPlace.length > 0 || plan.remaining > 0);
    if (!changes || deployed.every(([group]) => group.Count === 0)) return;
    let deployment = newDeployment(this.#tx, newId(), job);
    for (const [group] of deployed) {
      if (group.Count > 0)
        deployment = {
          ...deployment,
          TaskGroups: { ...deployment.TaskGroups, [group.Name]: newDeploymentState(group) },
        };
    }
    this.#current = this.#put(deployment, "PlanResult");
  }

  /** The one that instances of a group belong to now. */
  activeOf(group: string): Deployment | undefined {
    const deployment = this.#current;
    if (deployment === undefined || !isDeploymentActive(deployment)) return undefined;
    return deployment.TaskGroups?.[group] === undefined ? undefined : deployment;
  }

  /** So many instances of a group belong to it besides. */
  count(deployment: Deployment, group: string, placed: number): void {
    this.#current = this.#put(countPlaced(deployment, group, placed, this.#tx.nowMs), "PlanResult");
  }

  /** Sees what was written to it by others in this transaction. */
  refresh(): void {
    if (this.#current !== undefined && this.#tx.deployments.changes.has(this.#current.ID))
      this.#current = this.#tx.deployments.get(this.#current.ID);
  }

  /** It is over when every group has all its instances, and all are healthy. */
  finish(job: Job): void {
    const deployment = this.#current;
    if (deployment === undefined || deployment.Status !== "running") return;
    const states = Object.values(deployment.TaskGroups ?? {});
    if (states.some((state) => state.HealthyAllocs < state.DesiredTotal || state.PlacedAllocs < state.DesiredTotal))
      return;
    this.#tx.advance();
    this.#current = this.#put({
      ...deployment,
      Status: "successful",
      StatusDescription: "Deployment completed successfully",
    });
    markStable(this.#tx, job);
  }

  #put(deployment: Deployment, type?: string): Deployment {
    this.#touched = true;
    return putDeployment(this.#tx, deployment, type);
  }
}
