import {
  any,
  bool,
  duration,
  int,
  map,
  object,
  ref,
  refs,
  str,
  struct,
  time,
  uint,
  unixNano,
  type Infer,
} from "../dsl/field.ts";
import { AllocMetricStruct } from "./alloc.ts";
import { strings } from "./placement.ts";

const updatesFields = {
  Ignore: uint(),
  Place: uint(),
  Migrate: uint(),
  Stop: uint(),
  InPlaceUpdate: uint(),
  DestructiveUpdate: uint(),
  Canary: uint(),
  Preemptions: uint(),
  Disconnect: uint(),
  Reconnect: uint(),
  RescheduleNow: uint(),
  RescheduleLater: uint(),
};
/** What a plan does to a group, in numbers. @public */
export interface DesiredUpdates extends Infer<typeof updatesFields> {}
/** The description of {@link DesiredUpdates}. @public */
export const DesiredUpdatesStruct = struct<DesiredUpdates>("DesiredUpdates", updatesFields);

const annotationsFields = { DesiredTGUpdates: map(object(DesiredUpdatesStruct)), PreemptedAllocs: any() };
/** What a plan does, by group. @public */
export interface PlanAnnotations extends Infer<typeof annotationsFields> {}
/** The description of {@link PlanAnnotations}. @public */
export const PlanAnnotationsStruct = struct<PlanAnnotations>("PlanAnnotations", annotationsFields);

const stubFields = {
  ID: str(),
  Namespace: str(),
  Priority: int(),
  Type: str(),
  TriggeredBy: str(),
  JobID: str(),
  NodeID: str(),
  DeploymentID: str(),
  Status: str(),
  StatusDescription: str(),
  WaitUntil: time(),
  NextEval: str(),
  PreviousEval: str(),
  BlockedEval: str(),
  CreateIndex: uint(),
  ModifyIndex: uint(),
  CreateTime: unixNano(),
  ModifyTime: unixNano(),
};
/** An evaluation inside another one. @public */
export interface EvaluationStub extends Infer<typeof stubFields> {}
/** The description of {@link EvaluationStub}. @public */
export const EvaluationStubStruct = struct<EvaluationStub>("EvaluationStub", stubFields);

const evaluationFields = {
  ID: str(),
  Namespace: str(),
  Priority: int(),
  Type: str(),
  TriggeredBy: str(),
  JobID: str(),
  JobModifyIndex: uint(),
  NodeID: str(),
  NodeModifyIndex: uint(),
  DeploymentID: str(),
  /** `blocked`, `pending`, `complete`, `failed` or `canceled`. */
  Status: str(),
  StatusDescription: str(),
  Wait: duration(),
  WaitUntil: time(),
  NextEval: str(),
  PreviousEval: str(),
  BlockedEval: str(),
  RelatedEvals: refs(EvaluationStubStruct),
  FailedTGAllocs: map(object(AllocMetricStruct)),
  PlanAnnotations: ref(PlanAnnotationsStruct),
  ClassEligibility: map(bool()),
  QuotaLimitReached: str(),
  EscapedComputedClass: bool(),
  AnnotatePlan: bool(),
  QueuedAllocations: map(int()),
  LeaderACL: str(),
  SnapshotIndex: uint(),
  CreateIndex: uint(),
  ModifyIndex: uint(),
  CreateTime: unixNano(),
  ModifyTime: unixNano(),
};
/** One look of the scheduler at a job. @public */
export interface Evaluation extends Infer<typeof evaluationFields> {}
/** The description of {@link Evaluation}. @public */
export const EvaluationStruct = struct<Evaluation>("Evaluation", evaluationFields, { omitZero: true });

const deploymentStateFields = {
  AutoRevert: bool(),
  AutoPromote: bool(),
  ProgressDeadline: duration(),
  RequireProgressBy: time(),
  Promoted: bool(),
  PlacedCanaries: strings(),
  DesiredCanaries: int(),
  DesiredTotal: int(),
  PlacedAllocs: int(),
  HealthyAllocs: int(),
  UnhealthyAllocs: int(),
};
/** How far a deployment is with one group. @public */
export interface DeploymentState extends Infer<typeof deploymentStateFields> {}
/** The description of {@link DeploymentState}. @public */
export const DeploymentStateStruct = struct<DeploymentState>("DeploymentState", deploymentStateFields);

const deploymentFields = {
  ID: str(),
  Namespace: str(),
  JobID: str(),
  JobVersion: uint(),
  JobModifyIndex: uint(),
  JobSpecModifyIndex: uint(),
  JobCreateIndex: uint(),
  IsMultiregion: bool(),
  TaskGroups: map(object(DeploymentStateStruct)),
  /** `running`, `paused`, `failed`, `successful`, `cancelled` and more; see {@link DEPLOYMENT_STATUSES}. */
  Status: str(),
  StatusDescription: str(),
  EvalPriority: int(),
  CreateIndex: uint(),
  ModifyIndex: uint(),
  CreateTime: unixNano(),
  ModifyTime: unixNano(),
};
/** The roll-out of one version of a service job. @public */
export interface Deployment extends Infer<typeof deploymentFields> {}
/** The description of {@link Deployment}. @public */
export const DeploymentStruct = struct<Deployment>("Deployment", deploymentFields);
