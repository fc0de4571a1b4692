import type { Allocation, AllocMetric, Evaluation, Job } from "@outrider/nomad-structs";
import { createEval, isEvalTerminal, updateEval } from "./evaluations.ts";
import type { GroupPlan } from "./reconcile.ts";
import { jobKey } from "./tables.ts";
import type { Tx } from "./tx.ts";

/** The evaluations that come after one: they wake the scheduler when a time has come, or when there is room. */
export class NextEvals {
  readonly #tx: Tx;
  readonly #evaluation: Evaluation;
  readonly #newId: () => string;
  #touched = false;

  constructor(tx: Tx, evaluation: Evaluation, newId: () => string) {
    this.#tx = tx;
    this.#evaluation = evaluation;
    this.#newId = newId;
  }

  /** Whether anything was written. */
  get touched(): boolean {
    return this.#touched;
  }

  /** One evaluation per due time wakes the scheduler when a failed instance may be replaced. */
  followUp(job: Job, later: GroupPlan["later"]): void {
    const byTime = new Map<number, string>();
    for (const { alloc, atMs } of later) {
      const existing = alloc.FollowupEvalID === "" ? undefined : this.#tx.evals.get(alloc.FollowupEvalID);
      if (existing !== undefined && !isEvalTerminal(existing) && existing.ID !== this.#evaluation.ID) continue;
      const slot = Math.ceil(atMs / 5000) * 5000 - atMs < 1000 ? Math.ceil(atMs / 5000) * 5000 : atMs;
      let id = byTime.get(slot);
      if (id === undefined) {
        id = this.#newId();
        byTime.set(slot, id);
        createEval(this.#tx, id, job, "alloc-failure", {
          StatusDescription: "created for delayed rescheduling",
          WaitUntil: new Date(slot).toISOString(),
          PreviousEval: this.#evaluation.ID,
        });
      }
      this.#await(alloc, id);
    }
  }

  #await(alloc: Allocation, evalId: string): void {
    this.#touched = true;
    this.#tx.allocs.put(alloc.ID, {
      ...(this.#tx.allocs.get(alloc.ID) ?? alloc),
      FollowupEvalID: evalId,
      ModifyIndex: this.#tx.index,
    });
  }

  /** The job is stopped: nothing waits for its time or for room any more. */
  cancel(): void {
    for (const evaluation of this.#ofJob()) {
      if (isEvalTerminal(evaluation)) continue;
      if (evaluation.Status === "blocked" || evaluation.WaitUntil !== null)
        this.#cancelOne(evaluation, "job is stopped");
    }
  }

  /** What did not fit waits in one blocked evaluation per job. Returns its id, "" when everything fitted. */
  block(job: Job, failed: Record<string, AllocMetric>): string {
    for (const evaluation of this.#ofJob().filter(({ Status }) => Status === "blocked"))
      this.#cancelOne(evaluation, `evaluation "${this.#evaluation.ID}" is newer`);
    if (Object.keys(failed).length === 0) return "";
    this.#touched = true;
    const id = this.#newId();
    createEval(this.#tx, id, job, "queued-allocs", {
      Status: "blocked",
      StatusDescription: "created to place remaining allocations",
      PreviousEval: this.#evaluation.ID,
      FailedTGAllocs: failed,
      SnapshotIndex: this.#evaluation.ModifyIndex,
    });
    return id;
  }

  /** All others of the job. */
  #ofJob(): Evaluation[] {
    const { Namespace, JobID, ID } = this.#evaluation;
    return this.#tx.evals.by("job", jobKey(Namespace, JobID)).filter((evaluation) => evaluation.ID !== ID);
  }

  #cancelOne(evaluation: Evaluation, why: string): void {
    this.#touched = true;
    updateEval(this.#tx, evaluation, { Status: "canceled", StatusDescription: why });
  }
}
