import { PART_JUDGES } from "./part-judges.ts";
import type { JobRules } from "../server/index.ts";
import { canonicalizeJob, jobInputOf, refuseUnsupported, validateJob, type OptionalFeature } from "../jobspec/index.ts";

/** Optional parts of jobs that this client honours. */
export const HONOURED_FEATURES: readonly OptionalFeature[] = [
  "artifact",
  "dispatch-payload",
  "network-ports",
  "nomad-service",
  "parameterized",
  "periodic",
  "template",
];

/** The job file room's rules for a server with these drivers. */
export function createJobRules(o: { readonly drivers: () => readonly string[]; readonly region: string }): JobRules {
  return {
    canonicalize: (raw) => canonicalizeJob(jobInputOf(raw)),
    judge: (job) => {
      const { errors, warnings } = validateJob(job);
      const refused = refuseUnsupported(job, {
        drivers: o.drivers(),
        supported: HONOURED_FEATURES,
        judges: PART_JUDGES,
      });
      const region =
        job.Region === o.region
          ? []
          : [`Region: this server is region ${JSON.stringify(o.region)}, not ${JSON.stringify(job.Region)}`];
      const canary = (job.TaskGroups ?? []).flatMap((group) =>
        (group.Update?.Canary ?? 0) > 0
          ? [`group ${JSON.stringify(group.Name)}: canaries (update.canary) are not supported by this server`]
          : [],
      );
      return {
        errors: [...errors.map((e) => e.message), ...refused.map((e) => e.message), ...region, ...canary],
        warnings,
      };
    },
  };
}
