import type { Job } from "@outrider/nomad-structs";

/** What is wrong or worth telling with a job. */
export interface JobVerdict {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** How jobs are read and judged: implemented by the job file room, so that CLI and server judge alike. */
export interface JobRules {
  /** A parsed body → a complete job. Throws an Outrider error that names the field. */
  canonicalize(raw: unknown): Job;
  /** All that is wrong with a complete job, also parts that this client cannot honour. */
  judge(job: Job): JobVerdict;
}
