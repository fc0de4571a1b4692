import { OutriderError } from "@outrider/foundation";
import { decodeInput, JobStruct, parseJson, type JobInput } from "@outrider/nomad-structs";
import { MAX_JOB_BYTES, MAX_JOB_DEPTH, MAX_JOB_NODES } from "./limits.ts";

/**
 * Reads a job in JSON: `{"Job": {…}}` or the job itself. Depth, size and number of values are bounded, types and ranges
 * checked, unknown keys skipped as Nomad skips them. Throws `ERR_OUTRIDER_STRUCTS_*` with the field and the offending
 * text in `details`, or `ERR_OUTRIDER_JOBSPEC_NO_JOB`.
 */
export function parseJobJson(text: string): JobInput {
  return jobInputOf(parseJson(text, { maxBytes: MAX_JOB_BYTES }));
}

/** Like {@link parseJobJson}, for a body that is parsed already. */
export function jobInputOf(body: unknown): JobInput {
  let inner = body;
  if (typeof body === "object" && body !== null && Object.hasOwn(body, "Job")) inner = (body as { Job: unknown }).Job;
  if (typeof inner !== "object" || inner === null || Array.isArray(inner)) {
    throw new OutriderError(
      "ERR_OUTRIDER_JOBSPEC_NO_JOB",
      "the text holds no job: an object with the key Job, or a job, is needed",
    );
  }
  return decodeInput(JobStruct, inner, { maxDepth: MAX_JOB_DEPTH, maxNodes: MAX_JOB_NODES });
}
