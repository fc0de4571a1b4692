import { createEval } from "./evaluations.ts";
import type { RegisterReply } from "./job-commands.ts";
import { refreshJobStatus } from "./job-status.ts";
import { serverError } from "./server-error.ts";
import { jobKey } from "./tables.ts";
import type { Tx } from "./tx.ts";

/** What `alloc stop` asks. */
export interface StopAllocOptions {
  readonly noShutdownDelay?: boolean;
  readonly reschedule?: boolean;
}

/** Stops an allocation; the scheduler puts another one in its place. */
export function stopAlloc(tx: Tx, id: string, newId: () => string, o: StopAllocOptions = {}): RegisterReply {
  const alloc = tx.allocs.get(id);
  if (alloc === undefined) throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "alloc not found", { alloc: id });
  const transition = {
    ...alloc.DesiredTransition,
    Migrate: true,
    ...(o.noShutdownDelay === true ? { NoShutdownDelay: true } : {}),
  };
  tx.putDesired({ ...alloc, DesiredTransition: transition });
  const job = tx.jobs.get(jobKey(alloc.Namespace, alloc.JobID)) ?? alloc.Job;
  if (job === null) throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "job not found", { job: alloc.JobID });
  const evaluation = createEval(tx, newId(), job, "alloc-stop");
  refreshJobStatus(tx, alloc.Namespace, alloc.JobID);
  return { evalId: evaluation.ID, evalCreateIndex: tx.index, jobModifyIndex: job.JobModifyIndex, index: tx.index };
}
