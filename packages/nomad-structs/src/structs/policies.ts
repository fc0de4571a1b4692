import {
  any,
  bool,
  duration,
  int,
  list,
  map,
  ptr,
  ref,
  str,
  struct,
  submitted,
  unixNano,
  type Infer,
} from "../dsl/field.ts";
import { MultiregionStrategyStruct, strings } from "./placement.ts";

const restartFields = {
  Attempts: int(),
  Interval: duration(),
  Delay: duration(),
  /** `fail` or `delay`. */
  Mode: str(),
  RenderTemplates: bool(),
};
/** When a task is restarted on its node. @public */
export interface RestartPolicy extends Infer<typeof restartFields> {}
/** The description of {@link RestartPolicy}. @public */
export const RestartPolicyStruct = struct<RestartPolicy>("RestartPolicy", restartFields);

const rescheduleFields = {
  Attempts: int(),
  Interval: duration(),
  Delay: duration(),
  /** `constant`, `exponential` or `fibonacci`. */
  DelayFunction: str(),
  MaxDelay: duration(),
  Unlimited: bool(),
};
/** When a failed allocation is replaced by another. @public */
export interface ReschedulePolicy extends Infer<typeof rescheduleFields> {}
/** The description of {@link ReschedulePolicy}. @public */
export const ReschedulePolicyStruct = struct<ReschedulePolicy>("ReschedulePolicy", rescheduleFields);

const updateFields = {
  Stagger: duration(),
  MaxParallel: int(),
  /** `checks`, `task_states` or `manual`. */
  HealthCheck: str(),
  MinHealthyTime: duration(),
  HealthyDeadline: duration(),
  ProgressDeadline: duration(),
  AutoRevert: bool(),
  AutoPromote: bool(),
  Canary: int(),
};
/** How a new version of a job replaces the old one. @public */
export interface UpdateStrategy extends Infer<typeof updateFields> {}
/** The description of {@link UpdateStrategy}. @public */
export const UpdateStrategyStruct = struct<UpdateStrategy>("UpdateStrategy", updateFields);

const migrateFields = {
  MaxParallel: int(),
  HealthCheck: str(),
  MinHealthyTime: duration(),
  HealthyDeadline: duration(),
};
/** How allocations leave a node that is drained. @public */
export interface MigrateStrategy extends Infer<typeof migrateFields> {}
/** The description of {@link MigrateStrategy}. @public */
export const MigrateStrategyStruct = struct<MigrateStrategy>("MigrateStrategy", migrateFields);

const disconnectFields = {
  LostAfter: duration(),
  StopOnClientAfter: ptr(duration()),
  Replace: ptr(bool()),
  Reconcile: str(),
};
/** What happens while a node is out of reach. @public */
export interface DisconnectStrategy extends Infer<typeof disconnectFields> {}
/** The description of {@link DisconnectStrategy}. @public */
export const DisconnectStrategyStruct = struct<DisconnectStrategy>("DisconnectStrategy", disconnectFields);

const periodicFields = {
  Enabled: bool(),
  Spec: str(),
  Specs: list(str()),
  SpecType: str(),
  ProhibitOverlap: bool(),
  TimeZone: str(),
};
/** When a job is started again and again. @public */
export interface PeriodicConfig extends Infer<typeof periodicFields> {}
/** The description of {@link PeriodicConfig}. @public */
export const PeriodicConfigStruct = struct<PeriodicConfig>("PeriodicConfig", periodicFields);

const parameterizedFields = { Payload: str(), MetaRequired: strings(), MetaOptional: strings() };
/** What a dispatch of the job must or may give. @public */
export interface ParameterizedJobConfig extends Infer<typeof parameterizedFields> {}
/** The description of {@link ParameterizedJobConfig}. @public */
export const ParameterizedJobConfigStruct = struct<ParameterizedJobConfig>(
  "ParameterizedJobConfig",
  parameterizedFields,
);

const multiregionRegionFields = {
  Name: str(),
  Count: int(),
  Datacenters: strings(),
  NodePool: str(),
  Meta: map(str()),
};
/** One region of a multi-region job. @public */
export interface MultiregionRegion extends Infer<typeof multiregionRegionFields> {}
/** The description of {@link MultiregionRegion}. @public */
export const MultiregionRegionStruct = struct<MultiregionRegion>("MultiregionRegion", multiregionRegionFields);

const multiregionFields = { Strategy: ref(MultiregionStrategyStruct), Regions: list(ref(MultiregionRegionStruct)) };
/** A job for several regions. @public */
export interface Multiregion extends Infer<typeof multiregionFields> {}
/** The description of {@link Multiregion}. @public */
export const MultiregionStruct = struct<Multiregion>("Multiregion", multiregionFields);

const scalingFields = {
  ID: str(),
  Namespace: submitted(str()),
  Type: str(),
  Target: map(str()),
  Policy: map(any()),
  Min: int(),
  Max: int(),
  Enabled: bool(),
  CreateIndex: int(),
  ModifyIndex: int(),
};
/** Bounds and policy of a group's or task's scaling. @public */
export interface ScalingPolicy extends Infer<typeof scalingFields> {}
/** The description of {@link ScalingPolicy}. @public */
export const ScalingPolicyStruct = struct<ScalingPolicy>("ScalingPolicy", scalingFields);

const rescheduleEventFields = {
  RescheduleTime: unixNano(),
  PrevAllocID: str(),
  PrevNodeID: str(),
  Delay: duration(),
};
/** One replacement of a failed allocation. @public */
export interface RescheduleEvent extends Infer<typeof rescheduleEventFields> {}
/** The description of {@link RescheduleEvent}. @public */
export const RescheduleEventStruct = struct<RescheduleEvent>("RescheduleEvent", rescheduleEventFields);

const trackerFields = { Events: list(ref(RescheduleEventStruct)), LastReschedule: str() };
/** The replacements that led to an allocation. @public */
export interface RescheduleTracker extends Infer<typeof trackerFields> {}
/** The description of {@link RescheduleTracker}. @public */
export const RescheduleTrackerStruct = struct<RescheduleTracker>("RescheduleTracker", trackerFields);
