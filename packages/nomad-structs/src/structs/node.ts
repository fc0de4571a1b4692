import {
  any,
  bool,
  duration,
  float,
  int,
  list,
  map,
  object,
  ptr,
  ref,
  refs,
  str,
  struct,
  submitted,
  time,
  uint,
  type Infer,
} from "../dsl/field.ts";
import { NetworkResourceStruct } from "./network.ts";
import { NodeDiskResourcesStruct, NodeMemoryResourcesStruct, NodeProcessorResourcesStruct } from "./node-parts.ts";

const driverInfoFields = {
  Attributes: map(str()),
  Detected: bool(),
  Healthy: bool(),
  HealthDescription: str(),
  UpdateTime: time(),
};
/** A driver of a node. @public */
export interface DriverInfo extends Infer<typeof driverInfoFields> {}
/** The description of {@link DriverInfo}. @public */
export const DriverInfoStruct = struct<DriverInfo>("DriverInfo", driverInfoFields);

const cpuFields = { CpuShares: int(), TotalCpuCores: uint(16), ReservableCpuCores: list(uint(16)) };
/** CPU of a node, MHz and cores. @public */
export interface NodeCpuResources extends Infer<typeof cpuFields> {}
/** The description of {@link NodeCpuResources}. @public */
export const NodeCpuResourcesStruct = struct<NodeCpuResources>("NodeCpuResources", cpuFields);

const addressFields = { Family: str(), Alias: str(), Address: str(), ReservedPorts: str(), Gateway: str() };
/** An address of a node's network. @public */
export interface NodeNetworkAddress extends Infer<typeof addressFields> {}
/** The description of {@link NodeNetworkAddress}. @public */
export const NodeNetworkAddressStruct = struct<NodeNetworkAddress>("NodeNetworkAddress", addressFields);

const nodeNetworkFields = {
  Mode: str(),
  Device: str(),
  MacAddress: str(),
  /** Megabits a second. */
  Speed: int(),
  Addresses: refs(NodeNetworkAddressStruct),
};
/** A network device of a node. @public */
export interface NodeNetworkResource extends Infer<typeof nodeNetworkFields> {}
/** The description of {@link NodeNetworkResource}. @public */
export const NodeNetworkResourceStruct = struct<NodeNetworkResource>("NodeNetworkResource", nodeNetworkFields);

const attributeFields = {
  Float: ptr(float()),
  Int: ptr(int()),
  String: ptr(str()),
  Bool: ptr(bool()),
  Unit: str(),
};
/** A typed attribute of a device. @public */
export interface DeviceAttribute extends Infer<typeof attributeFields> {}
/** The description of {@link DeviceAttribute}. @public */
export const DeviceAttributeStruct = struct<DeviceAttribute>("DeviceAttribute", attributeFields);

const nodeDeviceFields = {
  Vendor: str(),
  Type: str(),
  Name: str(),
  Instances: list(any()),
  Attributes: map(object(DeviceAttributeStruct)),
};
/** Devices of one kind of a node. @public */
export interface NodeDeviceResource extends Infer<typeof nodeDeviceFields> {}
/** The description of {@link NodeDeviceResource}. @public */
export const NodeDeviceResourceStruct = struct<NodeDeviceResource>("NodeDeviceResource", nodeDeviceFields);

const nodeResourcesFields = {
  Cpu: object(NodeCpuResourcesStruct),
  Processors: object(NodeProcessorResourcesStruct),
  Memory: object(NodeMemoryResourcesStruct),
  Disk: object(NodeDiskResourcesStruct),
  Devices: refs(NodeDeviceResourceStruct),
  NodeNetworks: refs(NodeNetworkResourceStruct),
  Networks: refs(NetworkResourceStruct),
  MinDynamicPort: int(),
  MaxDynamicPort: int(),
};
/** What a node has. @public */
export interface NodeResources extends Infer<typeof nodeResourcesFields> {}
/** The description of {@link NodeResources}. @public */
export const NodeResourcesStruct = struct<NodeResources>("NodeResources", nodeResourcesFields);

const reservedCpuFields = { CpuShares: int(), ReservedCpuCores: list(uint(16)) };
/** CPU kept back on a node. @public */
export interface NodeReservedCpuResources extends Infer<typeof reservedCpuFields> {}
/** The description of {@link NodeReservedCpuResources}. @public */
export const NodeReservedCpuResourcesStruct = struct<NodeReservedCpuResources>(
  "NodeReservedCpuResources",
  reservedCpuFields,
);

const reservedNetworkFields = { ReservedHostPorts: str() };
/** Ports kept back on a node, like `22,80,8500-8600`. @public */
export interface NodeReservedNetworkResources extends Infer<typeof reservedNetworkFields> {}
/** The description of {@link NodeReservedNetworkResources}. @public */
export const NodeReservedNetworkResourcesStruct = struct<NodeReservedNetworkResources>(
  "NodeReservedNetworkResources",
  reservedNetworkFields,
);

const reservedFields = {
  Cpu: object(NodeReservedCpuResourcesStruct),
  Memory: object(NodeMemoryResourcesStruct),
  Disk: object(NodeDiskResourcesStruct),
  Networks: object(NodeReservedNetworkResourcesStruct),
};
/** What a node keeps back. @public */
export interface NodeReservedResources extends Infer<typeof reservedFields> {}
/** The description of {@link NodeReservedResources}. @public */
export const NodeReservedResourcesStruct = struct<NodeReservedResources>("NodeReservedResources", reservedFields);

const drainFields = {
  Deadline: duration(),
  IgnoreSystemJobs: bool(),
  ForceDeadline: time(),
  StartedAt: time(),
};
/** How a node is being emptied. @public */
export interface DrainStrategy extends Infer<typeof drainFields> {}
/** The description of {@link DrainStrategy}. @public */
export const DrainStrategyStruct = struct<DrainStrategy>("DrainStrategy", drainFields);

const drainMetadataFields = {
  StartedAt: time(),
  UpdatedAt: time(),
  Status: str(),
  AccessorID: str(),
  Meta: map(str()),
};
/** The last drain of a node. @public */
export interface DrainMetadata extends Infer<typeof drainMetadataFields> {}
/** The description of {@link DrainMetadata}. @public */
export const DrainMetadataStruct = struct<DrainMetadata>("DrainMetadata", drainMetadataFields);

const eventFields = {
  Message: str(),
  /** `Drain`, `Driver`, `Heartbeat`, `Cluster`, `Scheduler` or `Storage`. */
  Subsystem: str(),
  Details: map(str()),
  Timestamp: time(),
  CreateIndex: uint(),
};
/** Something that happened to a node. @public */
export interface NodeEvent extends Infer<typeof eventFields> {}
/** The description of {@link NodeEvent}. @public */
export const NodeEventStruct = struct<NodeEvent>("NodeEvent", eventFields);

const hostVolumeFields = { Name: str(), Path: str(), ReadOnly: bool(), ID: str() };
/** A folder of the node that jobs may mount. @public */
export interface ClientHostVolumeConfig extends Infer<typeof hostVolumeFields> {}
/** The description of {@link ClientHostVolumeConfig}. @public */
export const ClientHostVolumeConfigStruct = struct<ClientHostVolumeConfig>("ClientHostVolumeConfig", hostVolumeFields);

const hostNetworkFields = { Name: str(), CIDR: str(), Interface: str(), ReservedPorts: str() };
/** A named network of the node. @public */
export interface ClientHostNetworkConfig extends Infer<typeof hostNetworkFields> {}
/** The description of {@link ClientHostNetworkConfig}. @public */
export const ClientHostNetworkConfigStruct = struct<ClientHostNetworkConfig>(
  "ClientHostNetworkConfig",
  hostNetworkFields,
);

const nodeFields = {
  ID: str(),
  SecretID: str(),
  Datacenter: str(),
  Name: str(),
  CgroupParent: str(),
  HTTPAddr: str(),
  TLSEnabled: bool(),
  Attributes: map(str()),
  NodeResources: ref(NodeResourcesStruct),
  ReservedResources: ref(NodeReservedResourcesStruct),
  Links: map(str()),
  Meta: map(str()),
  NodeClass: str(),
  NodePool: str(),
  ComputedClass: str(),
  /** HTTP only: computed from `DrainStrategy`. */
  Drain: submitted(bool()),
  DrainStrategy: ref(DrainStrategyStruct),
  SchedulingEligibility: str(),
  Status: str(),
  StatusDescription: str(),
  IdentitySigningKeyID: str(),
  /** Seconds since 1970. */
  StatusUpdatedAt: int(),
  Events: refs(NodeEventStruct),
  Drivers: map(object(DriverInfoStruct)),
  CSIControllerPlugins: map(any()),
  CSINodePlugins: map(any()),
  HostVolumes: map(object(ClientHostVolumeConfigStruct)),
  GCVolumesOnNodeGC: bool(),
  HostNetworks: map(object(ClientHostNetworkConfigStruct)),
  LastDrain: ref(DrainMetadataStruct),
  NodeMaxAllocs: int(),
  LastMissedHeartbeatIndex: uint(),
  LastAllocUpdateIndex: uint(),
  CreateIndex: uint(),
  ModifyIndex: uint(),
};
/** A machine that runs tasks. @public */
export interface Node extends Infer<typeof nodeFields> {}
/** The description of {@link Node}. @public */
export const NodeStruct = struct<Node>("Node", nodeFields);

const stubFields = {
  Address: str(),
  ID: str(),
  Attributes: map(str()),
  Datacenter: str(),
  Name: str(),
  NodePool: str(),
  NodeClass: str(),
  Version: str(),
  Drain: bool(),
  SchedulingEligibility: str(),
  Status: str(),
  StatusDescription: str(),
  Drivers: map(object(DriverInfoStruct)),
  HostVolumes: map(object(ClientHostVolumeConfigStruct)),
  NodeResources: ref(NodeResourcesStruct),
  ReservedResources: ref(NodeReservedResourcesStruct),
  LastDrain: ref(DrainMetadataStruct),
  CreateIndex: uint(),
  ModifyIndex: uint(),
};
/** A node in a list. @public */
export interface NodeListStub extends Infer<typeof stubFields> {}
/** The description of {@link NodeListStub}. @public */
export const NodeListStubStruct = struct<NodeListStub>("NodeListStub", stubFields);
