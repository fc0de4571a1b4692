import { bool, duration, int, map, object, ptr, ref, refs, str, struct, type Infer } from "../dsl/field.ts";
import { ConsulStruct } from "./identity.ts";
import { NetworkResourceStruct } from "./network.ts";
import { AffinityStruct, ConstraintStruct, SpreadStruct, strings } from "./placement.ts";
import {
  DisconnectStrategyStruct,
  MigrateStrategyStruct,
  ReschedulePolicyStruct,
  RestartPolicyStruct,
  ScalingPolicyStruct,
  UpdateStrategyStruct,
} from "./policies.ts";
import { EphemeralDiskStruct } from "./resources.ts";
import { ServiceStruct } from "./service.ts";
import { TaskStruct } from "./task.ts";

const mountOptionsFields = { FSType: str(), MountFlags: strings() };
/** Mount options of a CSI volume. @public */
export interface CSIMountOptions extends Infer<typeof mountOptionsFields> {}
/** The description of {@link CSIMountOptions}. @public */
export const CSIMountOptionsStruct = struct<CSIMountOptions>("CSIMountOptions", mountOptionsFields);

const volumeFields = {
  Name: str(),
  /** `host` or `csi`. */
  Type: str(),
  Source: str(),
  ReadOnly: bool(),
  Sticky: bool(),
  AccessMode: str(),
  AttachmentMode: str(),
  MountOptions: ref(CSIMountOptionsStruct),
  PerAlloc: bool(),
};
/** A volume that a group asks for. @public */
export interface VolumeRequest extends Infer<typeof volumeFields> {}
/** The description of {@link VolumeRequest}. @public */
export const VolumeRequestStruct = struct<VolumeRequest>("VolumeRequest", volumeFields);

const groupFields = {
  Name: str(),
  Count: int(),
  Update: ref(UpdateStrategyStruct),
  Migrate: ref(MigrateStrategyStruct),
  Constraints: refs(ConstraintStruct),
  Scaling: ref(ScalingPolicyStruct),
  RestartPolicy: ref(RestartPolicyStruct),
  Disconnect: ref(DisconnectStrategyStruct),
  Tasks: refs(TaskStruct),
  EphemeralDisk: ref(EphemeralDiskStruct),
  Meta: map(str()),
  ReschedulePolicy: ref(ReschedulePolicyStruct),
  Affinities: refs(AffinityStruct),
  Spreads: refs(SpreadStruct),
  Networks: refs(NetworkResourceStruct),
  Consul: ref(ConsulStruct),
  Services: refs(ServiceStruct),
  Volumes: map(object(VolumeRequestStruct)),
  ShutdownDelay: ptr(duration()),
  MaxRunDuration: ptr(duration()),
  StopAfterClientDisconnect: ptr(duration()),
  MaxClientDisconnect: ptr(duration()),
  PreventRescheduleOnLost: bool(),
};
/** Tasks that run together on one node. @public */
export interface TaskGroup extends Infer<typeof groupFields> {}
/** The description of {@link TaskGroup}. @public */
export const TaskGroupStruct = struct<TaskGroup>("TaskGroup", groupFields);
