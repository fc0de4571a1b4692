import type { Evaluation, Job } from "@outrider/nomad-structs";
import { EvaluationStruct, make } from "@outrider/nomad-structs";
import type { Tx } from "./tx.ts";

/** Why the scheduler looks at a job. */
export type EvalTrigger =
  | "job-register"
  | "job-deregister"
  | "periodic-job"
  | "node-update"
  | "alloc-stop"
  | "alloc-failure"
  | "failed-follow-up"
  | "queued-allocs"
  | "deployment-watcher"
  | "job-scaling"
  | "max-disconnect-timeout";

/** Makes a new evaluation of a job and stores it. */
export function createEval(
  tx: Tx,
  id: string,
  job: Pick<Job, "Namespace" | "ID" | "Type" | "Priority" | "JobModifyIndex">,
  trigger: EvalTrigger,
  more: Partial<Evaluation> = {},
): Evaluation {
  const evaluation = make(EvaluationStruct, {
    ID: id,
    Namespace: job.Namespace,
    Priority: job.Priority,
    Type: job.Type,
    TriggeredBy: trigger,
    JobID: job.ID,
    JobModifyIndex:
      trigger === "job-register" ||
      trigger === "job-deregister" ||
      trigger === "periodic-job" ||
      trigger === "job-scaling" ||
      trigger === "queued-allocs"
        ? job.JobModifyIndex
        : 0,
    Status: "pending",
    CreateIndex: tx.index,
    ModifyIndex: tx.index,
    CreateTime: tx.nowNs,
    ModifyTime: tx.nowNs,
    ...more,
  });
  putEval(tx, evaluation);
  return evaluation;
}

/** Stores a changed evaluation. */
export function putEval(tx: Tx, evaluation: Evaluation): void {
  tx.evals.put(evaluation.ID, evaluation);
  tx.event("Evaluation", "EvaluationUpdated", evaluation.ID, evaluation.Namespace, { Evaluation: evaluation }, [
    evaluation.JobID,
  ]);
}

/** Changes an evaluation. */
export function updateEval(tx: Tx, evaluation: Evaluation, changes: Partial<Evaluation>): Evaluation {
  const next = { ...evaluation, ...changes, ModifyIndex: tx.index, ModifyTime: tx.nowNs };
  putEval(tx, next);
  return next;
}

/** Whether nothing more comes of it. */
export function isEvalTerminal(evaluation: Evaluation): boolean {
  return evaluation.Status === "complete" || evaluation.Status === "failed" || evaluation.Status === "canceled";
}
