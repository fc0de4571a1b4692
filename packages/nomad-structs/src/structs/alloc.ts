import {
  bool,
  duration,
  float,
  int,
  map,
  object,
  ptr,
  ref,
  refs,
  str,
  struct,
  time,
  uint,
  unixNano,
  type Infer,
} from "../dsl/field.ts";
import { JobStruct } from "./job.ts";
import { AllocNetworkStatusStruct } from "./network.ts";
import { strings } from "./placement.ts";
import { RescheduleTrackerStruct } from "./policies.ts";
import { AllocatedResourcesStruct, ResourcesStruct } from "./resources.ts";
import { TaskStateStruct } from "./task-state.ts";

const transitionFields = {
  Migrate: ptr(bool()),
  Reschedule: ptr(bool()),
  ForceReschedule: ptr(bool()),
  NoShutdownDelay: ptr(bool()),
  MigrateDisablePlacement: ptr(bool()),
};
/** What is to become of an allocation. @public */
export interface DesiredTransition extends Infer<typeof transitionFields> {}
/** The description of {@link DesiredTransition}. @public */
export const DesiredTransitionStruct = struct<DesiredTransition>("DesiredTransition", transitionFields);

const deploymentStatusFields = { Healthy: ptr(bool()), Timestamp: time(), Canary: bool(), ModifyIndex: uint() };
/** Health of an allocation; `Healthy` is null until known. @public */
export interface AllocDeploymentStatus extends Infer<typeof deploymentStatusFields> {}
/** The description of {@link AllocDeploymentStatus}. @public */
export const AllocDeploymentStatusStruct = struct<AllocDeploymentStatus>(
  "AllocDeploymentStatus",
  deploymentStatusFields,
);

const allocStateFields = { Field: str(), Value: str(), Time: time() };
/** A change of the client status that the server noted. @public */
export interface AllocStateEntry extends Infer<typeof allocStateFields> {}
/** The description of {@link AllocStateEntry}. @public */
export const AllocStateEntryStruct = struct<AllocStateEntry>("AllocStateEntry", allocStateFields);

const scoreFields = { NodeID: str(), Scores: map(float()), NormScore: float() };
/** How a node was rated. @public */
export interface NodeScoreMeta extends Infer<typeof scoreFields> {}
/** The description of {@link NodeScoreMeta}. @public */
export const NodeScoreMetaStruct = struct<NodeScoreMeta>("NodeScoreMeta", scoreFields);

const metricFields = {
  NodesEvaluated: int(),
  NodesFiltered: int(),
  NodesInPool: int(),
  NodePool: str(),
  NodesAvailable: map(int()),
  ClassFiltered: map(int()),
  ConstraintFiltered: map(int()),
  NodesExhausted: int(),
  ClassExhausted: map(int()),
  DimensionExhausted: map(int()),
  QuotaExhausted: strings(),
  ResourcesExhausted: map(object(ResourcesStruct)),
  Scores: map(float()),
  ScoreMetaData: refs(NodeScoreMetaStruct),
  AllocationTime: duration(),
  CoalescedFailures: int(),
};
/** How a placement was found, or why not. @public */
export interface AllocMetric extends Infer<typeof metricFields> {}
/** The description of {@link AllocMetric}. @public */
export const AllocMetricStruct = struct<AllocMetric>("AllocMetric", metricFields);

const allocationFields = {
  ID: str(),
  Namespace: str(),
  EvalID: str(),
  /** `job.group[index]`. */
  Name: str(),
  NodeID: str(),
  NodeName: str(),
  JobID: str(),
  Job: ref(JobStruct),
  /** Name of the group. */
  TaskGroup: str(),
  Resources: ref(ResourcesStruct),
  SharedResources: ref(ResourcesStruct),
  TaskResources: map(object(ResourcesStruct)),
  AllocatedResources: ref(AllocatedResourcesStruct),
  Metrics: ref(AllocMetricStruct),
  /** `run`, `stop` or `evict`. */
  DesiredStatus: str(),
  DesiredDescription: str(),
  DesiredTransition: object(DesiredTransitionStruct),
  /** `pending`, `running`, `complete`, `failed`, `lost` or `unknown`. */
  ClientStatus: str(),
  ClientDescription: str(),
  TaskStates: map(object(TaskStateStruct)),
  AllocStates: refs(AllocStateEntryStruct),
  PreviousAllocation: str(),
  NextAllocation: str(),
  DeploymentID: str(),
  DeploymentStatus: ref(AllocDeploymentStatusStruct),
  RescheduleTracker: ref(RescheduleTrackerStruct),
  NetworkStatus: ref(AllocNetworkStatusStruct),
  FollowupEvalID: str(),
  PreemptedAllocations: strings(),
  PreemptedByAllocation: str(),
  /** On the RPC wire only: HTTP never shows it. */
  SignedIdentities: map(str()),
  SigningKeyID: str(),
  CreateIndex: uint(),
  ModifyIndex: uint(),
  AllocModifyIndex: uint(),
  CreateTime: unixNano(),
  ModifyTime: unixNano(),
};
/** A group of a job placed on a node. @public */
export interface Allocation extends Infer<typeof allocationFields> {}
/** The description of {@link Allocation}. @public */
export const AllocationStruct = struct<Allocation>("Allocation", allocationFields, { omitZero: true });

const stubFields = {
  ID: str(),
  EvalID: str(),
  Name: str(),
  Namespace: str(),
  NodeID: str(),
  NodeName: str(),
  JobID: str(),
  JobType: str(),
  JobVersion: uint(),
  TaskGroup: str(),
  AllocatedResources: ref(AllocatedResourcesStruct),
  DesiredStatus: str(),
  DesiredDescription: str(),
  ClientStatus: str(),
  ClientDescription: str(),
  DesiredTransition: object(DesiredTransitionStruct),
  TaskStates: map(object(TaskStateStruct)),
  DeploymentStatus: ref(AllocDeploymentStatusStruct),
  FollowupEvalID: str(),
  NextAllocation: str(),
  RescheduleTracker: ref(RescheduleTrackerStruct),
  PreemptedAllocations: strings(),
  PreemptedByAllocation: str(),
  CreateIndex: uint(),
  ModifyIndex: uint(),
  CreateTime: unixNano(),
  ModifyTime: unixNano(),
};
/** An allocation in a list. @public */
export interface AllocListStub extends Infer<typeof stubFields> {}
/** The description of {@link AllocListStub}. @public */
export const AllocListStubStruct = struct<AllocListStub>("AllocListStub", stubFields);

const checkStatusFields = {
  ID: str(),
  Mode: str(),
  /** `success`, `failure` or `pending`. */
  Status: str(),
  StatusCode: int(),
  Output: str(),
  /** Seconds since 1970. */
  Timestamp: int(),
  Group: str(),
  Task: str(),
  Service: str(),
  Check: str(),
};
/** The latest result of a check of a Nomad service. @public */
export interface AllocCheckStatus extends Infer<typeof checkStatusFields> {}
/** The description of {@link AllocCheckStatus}. @public */
export const AllocCheckStatusStruct = struct<AllocCheckStatus>("AllocCheckStatus", checkStatusFields);
