import { bool, int, list, map, object, ref, refs, str, struct, submitted, uint, type Infer } from "../dsl/field.ts";
import { AllocatedPortMappingStruct, NetworkResourceStruct } from "./network.ts";
import { AffinityStruct, ConstraintStruct, strings } from "./placement.ts";

const requestedDeviceFields = {
  Name: str(),
  Count: uint(),
  Constraints: refs(ConstraintStruct),
  Affinities: refs(AffinityStruct),
};
/** A device that a task asks for. @public */
export interface RequestedDevice extends Infer<typeof requestedDeviceFields> {}
/** The description of {@link RequestedDevice}. @public */
export const RequestedDeviceStruct = struct<RequestedDevice>("RequestedDevice", requestedDeviceFields);

const numaFields = { Affinity: str(), Devices: strings() };
/** How cores and memory are to lie together. @public */
export interface NUMA extends Infer<typeof numaFields> {}
/** The description of {@link NUMA}. @public */
export const NUMAStruct = struct<NUMA>("NUMA", numaFields);

const resourcesFields = {
  /** MHz. */
  CPU: int(),
  Cores: int(),
  MemoryMB: int(),
  MemoryMaxMB: int(),
  DiskMB: int(),
  IOPS: int(),
  Networks: refs(NetworkResourceStruct),
  Devices: refs(RequestedDeviceStruct),
  NUMA: ref(NUMAStruct),
  SecretsMB: int(),
};
/** What a task asks for. @public */
export interface Resources extends Infer<typeof resourcesFields> {}
/** The description of {@link Resources}. @public */
export const ResourcesStruct = struct<Resources>("Resources", resourcesFields);

const logConfigFields = {
  MaxFiles: int(),
  MaxFileSizeMB: int(),
  Enabled: submitted(bool()),
  Disabled: bool(),
};
/** Rotation of a task's output files. @public */
export interface LogConfig extends Infer<typeof logConfigFields> {}
/** The description of {@link LogConfig}. @public */
export const LogConfigStruct = struct<LogConfig>("LogConfig", logConfigFields);

const diskFields = { Sticky: bool(), SizeMB: int(), Migrate: bool() };
/** The shared disk of a group. @public */
export interface EphemeralDisk extends Infer<typeof diskFields> {}
/** The description of {@link EphemeralDisk}. @public */
export const EphemeralDiskStruct = struct<EphemeralDisk>("EphemeralDisk", diskFields);

const lifecycleFields = {
  /** `prestart`, `poststart` or `poststop`. */
  Hook: str(),
  Sidecar: bool(),
};
/** When a task of a group runs; null for main tasks. @public */
export interface TaskLifecycleConfig extends Infer<typeof lifecycleFields> {}
/** The description of {@link TaskLifecycleConfig}. @public */
export const TaskLifecycleConfigStruct = struct<TaskLifecycleConfig>("TaskLifecycleConfig", lifecycleFields);

const allocatedCpuFields = { CpuShares: int(), ReservedCores: list(uint(16)) };
/** CPU of an allocated task, MHz. @public */
export interface AllocatedCpuResources extends Infer<typeof allocatedCpuFields> {}
/** The description of {@link AllocatedCpuResources}. @public */
export const AllocatedCpuResourcesStruct = struct<AllocatedCpuResources>("AllocatedCpuResources", allocatedCpuFields);

const allocatedMemoryFields = { MemoryMB: int(), MemoryMaxMB: int() };
/** Memory of an allocated task. @public */
export interface AllocatedMemoryResources extends Infer<typeof allocatedMemoryFields> {}
/** The description of {@link AllocatedMemoryResources}. @public */
export const AllocatedMemoryResourcesStruct = struct<AllocatedMemoryResources>(
  "AllocatedMemoryResources",
  allocatedMemoryFields,
);

const allocatedDeviceFields = { Vendor: str(), Type: str(), Name: str(), DeviceIDs: strings() };
/** A device that a task got. @public */
export interface AllocatedDeviceResource extends Infer<typeof allocatedDeviceFields> {}
/** The description of {@link AllocatedDeviceResource}. @public */
export const AllocatedDeviceResourceStruct = struct<AllocatedDeviceResource>(
  "AllocatedDeviceResource",
  allocatedDeviceFields,
);

const allocatedTaskFields = {
  Cpu: object(AllocatedCpuResourcesStruct),
  Memory: object(AllocatedMemoryResourcesStruct),
  Networks: refs(NetworkResourceStruct),
  Devices: refs(AllocatedDeviceResourceStruct),
};
/** What one task got. @public */
export interface AllocatedTaskResources extends Infer<typeof allocatedTaskFields> {}
/** The description of {@link AllocatedTaskResources}. @public */
export const AllocatedTaskResourcesStruct = struct<AllocatedTaskResources>(
  "AllocatedTaskResources",
  allocatedTaskFields,
);

const allocatedSharedFields = {
  Networks: refs(NetworkResourceStruct),
  DiskMB: int(),
  Ports: refs(AllocatedPortMappingStruct),
};
/** What the tasks of an allocation share. @public */
export interface AllocatedSharedResources extends Infer<typeof allocatedSharedFields> {}
/** The description of {@link AllocatedSharedResources}. @public */
export const AllocatedSharedResourcesStruct = struct<AllocatedSharedResources>(
  "AllocatedSharedResources",
  allocatedSharedFields,
);

const allocatedFields = {
  Tasks: map(object(AllocatedTaskResourcesStruct)),
  TaskLifecycles: map(ref(TaskLifecycleConfigStruct)),
  Shared: object(AllocatedSharedResourcesStruct),
};
/** What an allocation got on its node. @public */
export interface AllocatedResources extends Infer<typeof allocatedFields> {}
/** The description of {@link AllocatedResources}. @public */
export const AllocatedResourcesStruct = struct<AllocatedResources>("AllocatedResources", allocatedFields);
