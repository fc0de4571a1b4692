export { canonicalizeJob } from "./canonical/canonicalize-job.ts";
export { formatDiagnostics } from "./diagnostics.ts";
export { noFiles } from "./file-functions.ts";
export { parseJobFile, type ParseJobFileOptions } from "./parse-job-file.ts";
export { jobInputOf, parseJobJson } from "./parse-job-json.ts";
export {
  OPTIONAL_FEATURES,
  refuseUnsupported,
  type OptionalFeature,
  type PartFault,
  type PartJudges,
} from "./refuse.ts";
export { validateJob } from "./validate/validate-job.ts";
