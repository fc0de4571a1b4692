import type {
  AllocMetric,
  Allocation,
  DesiredUpdates,
  Evaluation,
  Job,
  Node,
  TaskGroup,
} from "@outrider/nomad-structs";
import { DesiredUpdatesStruct, isClientTerminal, make } from "@outrider/nomad-structs";
import { updateEval } from "./evaluations.ts";
import { isTemplateJob, refreshJobStatus } from "./job-status.ts";
import { NextEvals } from "./next-evals.ts";
import { NodeRoom } from "./placement.ts";
import { PlanDeployment } from "./plan-deployment.ts";
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
  readonly #deployment: PlanDeployment;
  readonly #next: NextEvals;
  #blockedId = "";
  #touched = false;

  constructor(tx: Tx, evaluation: Evaluation, job: Job | undefined, deps: SchedulerDeps) {
    this.#tx = tx;
    this.#evaluation = evaluation;
    this.#job = job;
    this.#deps = deps;
    this.#deployment = new PlanDeployment(tx);
    this.#next = new NextEvals(tx, evaluation, deps.newId);
    this.#allocs = tx.allocs.by("job", jobKey(evaluation.Namespace, evaluation.JobID));
  }

  execute(): void {
    const job = this.#job;
    if (job === undefined || job.Stop || isTemplateJob(job)) this.#stopAll();
    else this.#plan(job);
    if (this.#touched || this.#deployment.touched || this.#next.touched) this.#tx.advance();
    updateEval(this.#tx, this.#evaluation, {
      Status: "complete",
      DeploymentID: this.#deployment.current?.ID ?? "",
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
    this.#next.cancel();
    if (this.#job !== undefined) this.#deployment.cancel(this.#job);
  }

  #plan(job: Job): void {
    this.#deployment.adopt(job);
    const node = this.#node();
    const plans: Array<readonly [TaskGroup, GroupPlan]> = [];
    for (const group of job.TaskGroups ?? []) {
      const input = {
        job,
        group,
        allocs: this.#allocs.filter((alloc) => alloc.TaskGroup === group.Name),
        deployment: this.#deployment.current,
        nowMs: this.#tx.nowMs,
        forceReschedule: this.#evaluation.AnnotatePlan,
      };
      const system = job.Type === "system" || job.Type === "sysbatch";
      plans.push([group, system && group.Count > 0 ? reconcileSystemGroup(input) : reconcileGroup(input)]);
    }
    const known = new Set((job.TaskGroups ?? []).map((group) => group.Name));
    for (const alloc of this.#allocs)
      if (!known.has(alloc.TaskGroup) && isLive(alloc)) this.#stop({ alloc, description: STOP_NOT_NEEDED });

    this.#deployment.begin(job, plans, this.#deps.newId);
    for (const [group, plan] of plans) {
      for (const stop of plan.stop) this.#stop(stop);
      for (const alloc of plan.inPlace) this.#updateInPlace(job, alloc);
      this.#annotations[group.Name] = plan.updates;
      this.#queued[group.Name] = 0;
    }
    const room = new NodeRoom(node, this.#held(node, plans));
    for (const [group, plan] of plans) this.#placeGroup(job, group, plan, node, room);
    for (const [, plan] of plans) this.#next.followUp(job, plan.later);
    this.#deployment.refresh();
    if (Object.keys(this.#failed).length === 0) this.#deployment.finish(job);
    this.#blockedId = this.#next.block(job, this.#failed);
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

  #placeGroup(job: Job, group: TaskGroup, plan: GroupPlan, node: Node | undefined, room: NodeRoom): void {
    const deployment = this.#deployment.activeOf(group.Name);
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
    if (deployment !== undefined && placed > 0)
      this.#deployment.count(this.#tx.deployments.get(deployment.ID) ?? deployment, group.Name, placed);
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
    const deployment = this.#deployment.activeOf(alloc.TaskGroup);
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
    if (inNew) this.#deployment.count(deployment, alloc.TaskGroup, 1);
  }
}
