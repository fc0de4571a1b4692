import type {
  AllocMetric,
  Allocation,
  Deployment,
  DesiredUpdates,
  Evaluation,
  Job,
  Node,
} from "@outrider/nomad-structs";
import { DesiredUpdatesStruct, isClientTerminal, make } from "@outrider/nomad-structs";
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
import { createEval, isEvalTerminal, updateEval } from "./evaluations.ts";
import { isTemplateJob, refreshJobStatus } from "./job-status.ts";
import { NodeRoom } from "./placement.ts";
import { isLive, reconcileGroup, STOP_NOT_NEEDED, type GroupPlan, type StopRequest } from "./reconcile.ts";
import { reconcileSystemGroup } from "./reconcile-system.ts";
import { countAlloc, setQueued } from "./summaries.ts";
import { jobKey } from "./tables.ts";
import type { Tx } from "./tx.ts";

/** Sources of what a plan cannot compute. */
export interface SchedulerDeps {
  readonly newId: () => string;
  readonly random: () => number;
}

/** Works through one pending evaluation inside a transaction: allocations, deployment, follow-ups, and the evaluation itself. */
export function processEval(tx: Tx, evaluation: Evaluation, deps: SchedulerDeps): void {
  const job = tx.jobs.get(jobKey(evaluation.Namespace, evaluation.JobID));
  const run = new PlanRun(tx, evaluation, job, deps);
  run.execute();
}

class PlanRun {
  readonly #tx: Tx;
  readonly #evaluation: Evaluation;
  readonly #job: Job | undefined;
  readonly #deps: SchedulerDeps;
  readonly #allocs: Allocation[];
  readonly #annotations: Record<string, DesiredUpdates> = {};
  readonly #queued: Record<string, number> = {};
  readonly #failed: Record<string, AllocMetric> = {};
  #deployment: Deployment | undefined;
  #blockedId = "";
  #touched = false;

  constructor(tx: Tx, evaluation: Evaluation, job: Job | undefined, deps: SchedulerDeps) {
    this.#tx = tx;
    this.#evaluation = evaluation;
    this.#job = job;
    this.#deps = deps;
    this.#allocs = tx.allocs.by("job", jobKey(evaluation.Namespace, evaluation.JobID));
  }

  execute(): void {
    const job = this.#job;
    if (job === undefined || job.Stop || isTemplateJob(job)) this.#stopAll();
    else this.#plan(job);
    if (this.#touched) this.#tx.advance();
    updateEval(this.#tx, this.#evaluation, {
      Status: "complete",
      DeploymentID: this.#deployment?.ID ?? "",
      BlockedEval: this.#blockedId,
      FailedTGAllocs: Object.keys(this.#failed).length === 0 ? null : this.#failed,
      PlanAnnotations: { DesiredTGUpdates: this.#annotations, PreemptedAllocs: null },
      QueuedAllocations: this.#queued,
      SnapshotIndex: this.#evaluation.ModifyIndex,
    });
    if (job !== undefined) setQueued(this.#tx, job, this.#queued);
    refreshJobStatus(this.#tx, this.#evaluation.Namespace, this.#evaluation.JobID);
  }

  #stopAll(): void {
    const live = this.#allocs.filter(isLive);
    for (const group of this.#job?.TaskGroups ?? []) {
      this.#annotations[group.Name] = make(DesiredUpdatesStruct, {
        Stop: live.filter((alloc) => alloc.TaskGroup === group.Name).length,
      });
      this.#queued[group.Name] = 0;
    }
    for (const alloc of live) this.#stop({ alloc, description: STOP_NOT_NEEDED });
    this.#cancelFollowUps();
    if (this.#job === undefined) return;
    const deployment = latestDeployment(this.#tx, this.#job);
    this.#deployment = deployment;
    if (deployment !== undefined && isDeploymentActive(deployment)) {
      this.#touched = true;
      this.#deployment = putDeployment(this.#tx, {
        ...deployment,
        Status: "cancelled",
        StatusDescription: "Cancelled because job is stopped",
      });
    }
  }

  #plan(job: Job): void {
    this.#adoptDeployment(job);
    const node = this.#node();
    const plans: Array<readonly [NonNullable<Job["TaskGroups"]>[number], GroupPlan]> = [];
    for (const group of job.TaskGroups ?? []) {
      const input = {
        job,
        group,
        allocs: this.#allocs.filter((alloc) => alloc.TaskGroup === group.Name),
        deployment: this.#deployment,
        nowMs: this.#tx.nowMs,
        forceReschedule: this.#evaluation.AnnotatePlan,
      };
      const system = job.Type === "system" || job.Type === "sysbatch";
      plans.push([group, system && group.Count > 0 ? reconcileSystemGroup(input) : reconcileGroup(input)]);
    }
    const known = new Set((job.TaskGroups ?? []).map((group) => group.Name));
    for (const alloc of this.#allocs)
      if (!known.has(alloc.TaskGroup) && isLive(alloc)) this.#stop({ alloc, description: STOP_NOT_NEEDED });

    this.#prepareDeployment(job, plans);
    for (const [group, plan] of plans) {
      for (const stop of plan.stop) this.#stop(stop);
      for (const alloc of plan.inPlace) this.#updateInPlace(job, alloc);
      this.#annotations[group.Name] = plan.updates;
      this.#queued[group.Name] = 0;
    }
    const room = new NodeRoom(node, this.#held(node, plans));
    for (const [group, plan] of plans) this.#placeGroup(job, group, plan, node, room);
    for (const [, plan] of plans) this.#followUps(job, plan);
    if (this.#deployment !== undefined && this.#tx.deployments.changes.has(this.#deployment.ID))
      this.#deployment = this.#tx.deployments.get(this.#deployment.ID);
    this.#finishDeployment(job);
    this.#block(job);
  }

  /** A deployment is over when every group has all its instances, and all are healthy. */
  #finishDeployment(job: Job): void {
    const deployment = this.#deployment;
    if (deployment === undefined || deployment.Status !== "running" || Object.keys(this.#failed).length > 0) return;
    const states = Object.values(deployment.TaskGroups ?? {});
    if (states.some((state) => state.HealthyAllocs < state.DesiredTotal || state.PlacedAllocs < state.DesiredTotal))
      return;
    this.#touched = true;
    this.#tx.advance();
    this.#deployment = putDeployment(this.#tx, {
      ...deployment,
      Status: "successful",
      StatusDescription: "Deployment completed successfully",
    });
    markStable(this.#tx, job);
  }

  #node(): Node | undefined {
    return this.#tx.nodes.all()[0];
  }

  /** Whose resources are still in use: all that has not ended, except what a new instance waits for. */
  #held(node: Node | undefined, plans: ReadonlyArray<readonly [unknown, GroupPlan]>): Allocation[] {
    if (node === undefined) return [];
    const replaced = new Set(plans.flatMap(([, plan]) => plan.place.map((place) => place.previous?.ID)));
    return this.#tx.allocs
      .by("node", node.ID)
      .filter((alloc) => !isClientTerminal(alloc.ClientStatus) && !replaced.has(alloc.ID));
  }

  #adoptDeployment(job: Job): void {
    const latest = latestDeployment(this.#tx, job);
    if (latest === undefined) return;
    if (latest.JobVersion === job.Version) {
      this.#deployment = latest;
    } else if (isDeploymentActive(latest)) {
      this.#touched = true;
      putDeployment(this.#tx, {
        ...latest,
        Status: "cancelled",
        StatusDescription: "Cancelled due to newer version of job",
      });
    }
  }

  #prepareDeployment(
    job: Job,
    plans: ReadonlyArray<readonly [NonNullable<Job["TaskGroups"]>[number], GroupPlan]>,
  ): void {
    if (this.#deployment !== undefined) return;
    const deployed = plans.filter(([group]) => isDeployed(job, group));
    const changes = deployed.some(([, plan]) => plan.place.length > 0 || plan.inPlace.length > 0 || plan.remaining > 0);
    if (!changes || deployed.every(([group]) => group.Count === 0)) return;
    let deployment = newDeployment(this.#tx, this.#deps.newId(), job);
    for (const [group] of deployed) {
      if (group.Count > 0)
        deployment = {
          ...deployment,
          TaskGroups: { ...deployment.TaskGroups, [group.Name]: newDeploymentState(group) },
        };
    }
    this.#touched = true;
    this.#deployment = putDeployment(this.#tx, deployment, "PlanResult");
  }

  #activeDeploymentOf(group: string): Deployment | undefined {
    const deployment = this.#deployment;
    if (deployment === undefined || !isDeploymentActive(deployment)) return undefined;
    return deployment.TaskGroups?.[group] === undefined ? undefined : deployment;
  }

  #placeGroup(
    job: Job,
    group: NonNullable<Job["TaskGroups"]>[number],
    plan: GroupPlan,
    node: Node | undefined,
    room: NodeRoom,
  ): void {
    const deployment = this.#activeDeploymentOf(group.Name);
    let placed = 0;
    for (const request of plan.place) {
      const result = room.place(
        {
          job,
          node,
          evalId: this.#evaluation.ID,
          deploymentId: deployment?.ID ?? "",
          nowNs: this.#tx.nowNs,
          newId: this.#deps.newId,
          random: this.#deps.random,
        },
        { group, ...request },
      );
      if ("failed" in result) {
        const earlier = this.#failed[group.Name];
        if (earlier === undefined) this.#failed[group.Name] = result.failed;
        else earlier.CoalescedFailures += 1;
        this.#queued[group.Name] = (this.#queued[group.Name] ?? 0) + 1;
        continue;
      }
      placed += 1;
      this.#put(job, result.alloc, request.previous);
    }
    if (deployment !== undefined && placed > 0) {
      this.#deployment = putDeployment(
        this.#tx,
        countPlaced(this.#tx.deployments.get(deployment.ID) ?? deployment, group.Name, placed, this.#tx.nowMs),
        "PlanResult",
      );
    }
  }

  #put(job: Job, alloc: Allocation, previous: Allocation | undefined): void {
    this.#touched = true;
    const stored = this.#tx.putDesired({ ...alloc, Job: job, CreateIndex: this.#tx.index });
    countAlloc(this.#tx, undefined, stored);
    this.#tx.event("Allocation", "PlanResult", stored.ID, stored.Namespace, { Allocation: stored }, [
      stored.JobID,
      stored.DeploymentID,
    ]);
    if (previous === undefined) return;
    const old = this.#tx.allocs.get(previous.ID);
    if (old !== undefined) this.#tx.putDesired({ ...old, NextAllocation: stored.ID });
  }

  #stop(request: StopRequest): void {
    this.#touched = true;
    const stored = this.#tx.putDesired({
      ...request.alloc,
      DesiredStatus: "stop",
      DesiredDescription: request.description,
      DesiredTransition: { ...request.alloc.DesiredTransition, Migrate: null, Reschedule: null, ForceReschedule: null },
      FollowupEvalID: "",
    });
    this.#tx.event("Allocation", "PlanResult", stored.ID, stored.Namespace, { Allocation: stored }, [
      stored.JobID,
      stored.DeploymentID,
    ]);
  }

  /** The tasks go on running under the new version; its health is to be shown anew in a new deployment. */
  #updateInPlace(job: Job, alloc: Allocation): void {
    this.#touched = true;
    const group = job.TaskGroups?.find((g) => g.Name === alloc.TaskGroup);
    const deployment = this.#activeDeploymentOf(alloc.TaskGroup);
    const inNew = deployment !== undefined && deployment.ID !== alloc.DeploymentID;
    const stored = this.#tx.putDesired({
      ...alloc,
      Job: job,
      EvalID: this.#evaluation.ID,
      TaskResources: Object.fromEntries(
        (group?.Tasks ?? []).flatMap((task) => (task.Resources === null ? [] : [[task.Name, task.Resources]])),
      ),
      ...(inNew ? { DeploymentID: deployment.ID, DeploymentStatus: null } : {}),
    });
    this.#tx.event("Allocation", "PlanResult", stored.ID, stored.Namespace, { Allocation: stored }, [
      stored.JobID,
      stored.DeploymentID,
    ]);
    if (inNew)
      this.#deployment = putDeployment(
        this.#tx,
        countPlaced(deployment, alloc.TaskGroup, 1, this.#tx.nowMs),
        "PlanResult",
      );
  }

  /** One evaluation per due time wakes the scheduler when a failed instance may be replaced. */
  #followUps(job: Job, plan: GroupPlan): void {
    const byTime = new Map<number, string>();
    for (const { alloc, atMs } of plan.later) {
      const existing = alloc.FollowupEvalID === "" ? undefined : this.#tx.evals.get(alloc.FollowupEvalID);
      if (existing !== undefined && !isEvalTerminal(existing) && existing.ID !== this.#evaluation.ID) continue;
      const slot = Math.ceil(atMs / 5000) * 5000 - atMs < 1000 ? Math.ceil(atMs / 5000) * 5000 : atMs;
      let id = byTime.get(slot);
      if (id === undefined) {
        id = this.#deps.newId();
        byTime.set(slot, id);
        createEval(this.#tx, id, job, "alloc-failure", {
          StatusDescription: "created for delayed rescheduling",
          WaitUntil: new Date(slot).toISOString(),
          PreviousEval: this.#evaluation.ID,
        });
      }
      this.#touched = true;
      this.#tx.allocs.put(alloc.ID, {
        ...(this.#tx.allocs.get(alloc.ID) ?? alloc),
        FollowupEvalID: id,
        ModifyIndex: this.#tx.index,
      });
    }
  }

  #cancelFollowUps(): void {
    for (const evaluation of this.#tx.evals.by("job", jobKey(this.#evaluation.Namespace, this.#evaluation.JobID))) {
      if (evaluation.ID === this.#evaluation.ID || isEvalTerminal(evaluation)) continue;
      if (evaluation.Status === "blocked" || evaluation.WaitUntil !== null) {
        this.#touched = true;
        updateEval(this.#tx, evaluation, { Status: "canceled", StatusDescription: "job is stopped" });
      }
    }
  }

  /** What did not fit waits in one blocked evaluation per job. */
  #block(job: Job): void {
    const earlier = this.#tx.evals
      .by("job", jobKey(job.Namespace, job.ID))
      .filter((evaluation) => evaluation.Status === "blocked" && evaluation.ID !== this.#evaluation.ID);
    for (const evaluation of earlier) {
      this.#touched = true;
      updateEval(this.#tx, evaluation, {
        Status: "canceled",
        StatusDescription: `evaluation "${this.#evaluation.ID}" is newer`,
      });
    }
    if (Object.keys(this.#failed).length === 0) return;
    this.#touched = true;
    this.#blockedId = this.#deps.newId();
    createEval(this.#tx, this.#blockedId, job, "queued-allocs", {
      Status: "blocked",
      StatusDescription: "created to place remaining allocations",
      PreviousEval: this.#evaluation.ID,
      FailedTGAllocs: this.#failed,
      SnapshotIndex: this.#evaluation.ModifyIndex,
    });
  }
}
