import {
  bool,
  bytes,
  int,
  map,
  object,
  ref,
  refs,
  str,
  struct,
  submitted,
  uint,
  unixNano,
  type Infer,
  type Input,
} from "../dsl/field.ts";
import {
  AffinityStruct,
  ConstraintStruct,
  JobUIConfigStruct,
  JobVersionTagStruct,
  SpreadStruct,
  strings,
} from "./placement.ts";
import {
  MigrateStrategyStruct,
  MultiregionStruct,
  ParameterizedJobConfigStruct,
  PeriodicConfigStruct,
  ReschedulePolicyStruct,
  UpdateStrategyStruct,
} from "./policies.ts";
import { TaskGroupStruct } from "./task-group.ts";

const jobFields = {
  Stop: bool(),
  Region: str(),
  Namespace: str(),
  ID: str(),
  ParentID: str(),
  Name: str(),
  /** `service`, `batch`, `system` or `sysbatch`. */
  Type: str(),
  Priority: int(),
  AllAtOnce: bool(),
  Datacenters: strings(),
  NodePool: str(),
  Constraints: refs(ConstraintStruct),
  Affinities: refs(AffinityStruct),
  Spreads: refs(SpreadStruct),
  TaskGroups: refs(TaskGroupStruct),
  Update: object(UpdateStrategyStruct),
  Multiregion: ref(MultiregionStruct),
  Periodic: ref(PeriodicConfigStruct),
  ParameterizedJob: ref(ParameterizedJobConfigStruct),
  Reschedule: submitted(ref(ReschedulePolicyStruct)),
  Migrate: submitted(ref(MigrateStrategyStruct)),
  Dispatched: bool(),
  DispatchIdempotencyToken: str(),
  Payload: bytes(),
  Meta: map(str()),
  ConsulNamespace: str(),
  VaultNamespace: str(),
  NomadTokenID: str(),
  Status: str(),
  StatusDescription: str(),
  Stable: bool(),
  Version: uint(),
  SubmitTime: unixNano(),
  CreateIndex: uint(),
  ModifyIndex: uint(),
  JobModifyIndex: uint(),
  UI: ref(JobUIConfigStruct),
  VersionTag: ref(JobVersionTagStruct),
};
/** A job as the server keeps it: every field has a value. @public */
export interface Job extends Infer<typeof jobFields> {}
/** The description of {@link Job}. @public */
export const JobStruct = struct<Job>("Job", jobFields);

/** A job as users submit it: anything may be absent or null. @public */
export interface JobInput extends Input<Job> {}

const submissionFields = {
  Source: str(),
  /** `hcl2` or `json`. */
  Format: str(),
  VariableFlags: map(str()),
  Variables: str(),
  Namespace: str(),
  JobID: str(),
  Version: uint(),
  JobModifyIndex: uint(),
};
/** The text a job was submitted as. @public */
export interface JobSubmission extends Infer<typeof submissionFields> {}
/** The description of {@link JobSubmission}. @public */
export const JobSubmissionStruct = struct<JobSubmission>("JobSubmission", submissionFields);

const groupSummaryFields = {
  Queued: int(),
  Complete: int(),
  Failed: int(),
  Running: int(),
  Starting: int(),
  Lost: int(),
  Unknown: int(),
};
/** How many allocations of a group are in which state. @public */
export interface TaskGroupSummary extends Infer<typeof groupSummaryFields> {}
/** The description of {@link TaskGroupSummary}. @public */
export const TaskGroupSummaryStruct = struct<TaskGroupSummary>("TaskGroupSummary", groupSummaryFields);

const childrenFields = { Pending: int(), Running: int(), Dead: int() };
/** How many children of a periodic or parameterized job are in which state. @public */
export interface JobChildrenSummary extends Infer<typeof childrenFields> {}
/** The description of {@link JobChildrenSummary}. @public */
export const JobChildrenSummaryStruct = struct<JobChildrenSummary>("JobChildrenSummary", childrenFields);

const summaryFields = {
  JobID: str(),
  Namespace: str(),
  Summary: map(object(TaskGroupSummaryStruct)),
  Children: ref(JobChildrenSummaryStruct),
  CreateIndex: uint(),
  ModifyIndex: uint(),
};
/** The counts of a job. @public */
export interface JobSummary extends Infer<typeof summaryFields> {}
/** The description of {@link JobSummary}. @public */
export const JobSummaryStruct = struct<JobSummary>("JobSummary", summaryFields);

const listStubFields = {
  ID: str(),
  ParentID: str(),
  Name: str(),
  Namespace: str(),
  Datacenters: strings(),
  NodePool: str(),
  Multiregion: ref(MultiregionStruct),
  Type: str(),
  Priority: int(),
  Periodic: bool(),
  ParameterizedJob: bool(),
  Stop: bool(),
  Status: str(),
  StatusDescription: str(),
  JobSummary: ref(JobSummaryStruct),
  CreateIndex: uint(),
  ModifyIndex: uint(),
  JobModifyIndex: uint(),
  SubmitTime: unixNano(),
  Meta: map(str()),
};
/** A job in a list. @public */
export interface JobListStub extends Infer<typeof listStubFields> {}
/** The description of {@link JobListStub}. @public */
export const JobListStubStruct = struct<JobListStub>("JobListStub", listStubFields);
