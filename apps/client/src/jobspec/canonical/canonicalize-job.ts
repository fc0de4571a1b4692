import {
  JobStruct,
  make,
  TaskGroupStruct,
  type Affinity,
  type Input,
  type Job,
  type JobInput,
  type ScalingPolicy,
  type Spread,
  type TaskGroup,
} from "@outrider/nomad-structs";
import { implicitConstraints } from "./constraints.ts";
import { canonicalNetworks } from "./network.ts";
import { jobUpdate, layered, migrateStrategy, reschedulePolicy, restartPolicy, updateStrategy } from "./policies.ts";
import { canonicalService } from "./service.ts";
import { canonicalTask } from "./task.ts";

const DEFAULT_WEIGHT = 50;

const affinity = (given: Input<Affinity> | null): Input<Affinity> => ({
  ...given,
  Weight: given?.Weight ?? DEFAULT_WEIGHT,
});
const spread = (given: Input<Spread> | null): Input<Spread> => ({ ...given, Weight: given?.Weight ?? DEFAULT_WEIGHT });

function scaling(given: Input<ScalingPolicy>, group: Input<TaskGroup>, job: Job): Input<ScalingPolicy> {
  const { Namespace: _namespace, ...rest } = given;
  return {
    ...rest,
    Type: given.Type || "horizontal",
    Enabled: given.Enabled ?? true,
    Min: given.Min ?? group.Count ?? 1,
    Max: given.Max ?? 0,
    Target: { Namespace: job.Namespace, Job: job.ID, Group: group.Name ?? "" },
  };
}

function canonicalGroup(given: Input<TaskGroup>, job: Job, from: JobInput): TaskGroup {
  const { Tasks: tasks, Services: services, Networks: networks, ...rest } = given;
  const group = make(TaskGroupStruct, {
    ...rest,
    Count: given.Count ?? given.Scaling?.Min ?? 1,
    Affinities: given.Affinities?.map(affinity),
    Spreads: given.Spreads?.map(spread),
    EphemeralDisk: layered({ SizeMB: 300 }, given.EphemeralDisk),
    Disconnect: given.Disconnect ? layered({ Replace: true, Reconcile: "best_score" }, given.Disconnect) : null,
    Scaling: given.Scaling ? scaling(given.Scaling, given, job) : null,
  });
  group.RestartPolicy = restartPolicy(job.Type, given.RestartPolicy);
  group.ReschedulePolicy = reschedulePolicy(job.Type, from.Reschedule, given.ReschedulePolicy);
  group.Update = updateStrategy(job.Type, from.Update, given.Update);
  group.Migrate = migrateStrategy(job.Type, from.Migrate, given.Migrate);
  group.Networks = canonicalNetworks(networks);
  const names = { job: job.ID, group: group.Name, task: undefined, namespace: job.Namespace };
  group.Services = services?.map((service) => canonicalService(service ?? {}, names)) ?? null;
  const place = {
    type: job.Type,
    namespace: job.Namespace,
    job: job.ID,
    group: group.Name,
    restart: group.RestartPolicy,
  };
  group.Tasks = tasks?.map((task) => canonicalTask(task ?? {}, place)) ?? null;
  group.Constraints = implicitConstraints(group);
  return group;
}

/**
 * The job as a server keeps it: every default of Nomad 2.0 filled in, job-wide policies merged into groups and tasks,
 * implicit constraints added. What only a server knows (status, version, times, indexes) is zero.
 *
 * A part that its job type does not allow stays, so that validation can name it. The input is not changed.
 */
export function canonicalizeJob(input: JobInput): Job {
  const type = input.Type || "service";
  const { TaskGroups: groups, Reschedule: _reschedule, Migrate: _migrate, ...rest } = input;
  const job = make(JobStruct, {
    ...rest,
    Type: type,
    Region: input.Region || "global",
    Namespace: input.Namespace || "default",
    NodePool: input.NodePool || "default",
    Name: input.Name || input.ID,
    Priority: input.Priority ?? 50,
    Datacenters: input.Datacenters?.length ? input.Datacenters : ["*"],
    Affinities: input.Affinities?.map(affinity),
    Spreads: input.Spreads?.map(spread),
    Update: null,
    Periodic: input.Periodic
      ? layered({ Enabled: true, SpecType: "cron", TimeZone: "UTC" }, noEmptyZone(input.Periodic))
      : null,
    ParameterizedJob: input.ParameterizedJob
      ? { ...input.ParameterizedJob, Payload: input.ParameterizedJob.Payload || "optional" }
      : null,
    NomadTokenID: "",
    Status: "",
    StatusDescription: "",
    Stable: false,
    Version: 0,
    SubmitTime: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
    JobModifyIndex: 0,
  });
  job.Update = jobUpdate(type, input.Update);
  job.TaskGroups = groups?.map((group) => canonicalGroup(group ?? {}, job, input)) ?? null;
  return job;
}

function noEmptyZone(periodic: NonNullable<JobInput["Periodic"]>): NonNullable<JobInput["Periodic"]> {
  return { ...periodic, TimeZone: periodic.TimeZone || null, SpecType: periodic.SpecType || null };
}
