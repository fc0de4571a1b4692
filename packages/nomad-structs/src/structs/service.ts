import { any, bool, duration, int, list, map, ref, refs, str, struct, submitted, type Infer } from "../dsl/field.ts";
import { strings } from "./placement.ts";
import { LogConfigStruct, ResourcesStruct } from "./resources.ts";
import { WorkloadIdentityStruct } from "./identity.ts";

const checkRestartFields = { Limit: int(), Grace: duration(), IgnoreWarnings: bool() };
/** When failing checks restart a task. @public */
export interface CheckRestart extends Infer<typeof checkRestartFields> {}
/** The description of {@link CheckRestart}. @public */
export const CheckRestartStruct = struct<CheckRestart>("CheckRestart", checkRestartFields);

const checkFields = {
  Name: str(),
  Type: str(),
  Command: str(),
  Args: strings(),
  Path: str(),
  Protocol: str(),
  PortLabel: str(),
  Expose: bool(),
  AddressMode: str(),
  Advertise: submitted(str()),
  Interval: duration(),
  Timeout: duration(),
  InitialStatus: str(),
  Notes: str(),
  TLSServerName: str(),
  TLSSkipVerify: bool(),
  Method: str(),
  Header: map(list(str())),
  CheckRestart: ref(CheckRestartStruct),
  GRPCService: str(),
  GRPCUseTLS: bool(),
  TaskName: str(),
  SuccessBeforePassing: int(),
  FailuresBeforeCritical: int(),
  FailuresBeforeWarning: int(),
  Body: str(),
  OnUpdate: str(),
};
/** A health check of a service. @public */
export interface ServiceCheck extends Infer<typeof checkFields> {}
/** The description of {@link ServiceCheck}. @public */
export const ServiceCheckStruct = struct<ServiceCheck>("ServiceCheck", checkFields);

const weightsFields = { Passing: int(), Warning: int() };
/** Consul's weights of a service. @public */
export interface ServiceWeights extends Infer<typeof weightsFields> {}
/** The description of {@link ServiceWeights}. @public */
export const ServiceWeightsStruct = struct<ServiceWeights>("ServiceWeights", weightsFields);

const upstreamFields = {
  DestinationName: str(),
  DestinationNamespace: str(),
  DestinationPeer: str(),
  DestinationPartition: str(),
  DestinationType: str(),
  LocalBindPort: int(),
  Datacenter: str(),
  LocalBindAddress: str(),
  LocalBindSocketPath: str(),
  LocalBindSocketMode: str(),
  MeshGateway: any(),
  Config: map(any()),
};
/** A service that a Connect sidecar reaches. @public */
export interface ConsulUpstream extends Infer<typeof upstreamFields> {}
/** The description of {@link ConsulUpstream}. @public */
export const ConsulUpstreamStruct = struct<ConsulUpstream>("ConsulUpstream", upstreamFields);

const proxyFields = {
  LocalServiceAddress: str(),
  LocalServicePort: int(),
  Expose: any(),
  ExposeConfig: any(),
  Upstreams: refs(ConsulUpstreamStruct),
  TransparentProxy: any(),
  Config: map(any()),
};
/** The proxy of a Connect sidecar. @public */
export interface ConsulProxy extends Infer<typeof proxyFields> {}
/** The description of {@link ConsulProxy}. @public */
export const ConsulProxyStruct = struct<ConsulProxy>("ConsulProxy", proxyFields);

const sidecarServiceFields = {
  Tags: strings(),
  Port: str(),
  Proxy: ref(ConsulProxyStruct),
  DisableDefaultTCPCheck: bool(),
  Meta: map(str()),
};
/** The service of a Connect sidecar. @public */
export interface ConsulSidecarService extends Infer<typeof sidecarServiceFields> {}
/** The description of {@link ConsulSidecarService}. @public */
export const ConsulSidecarServiceStruct = struct<ConsulSidecarService>("ConsulSidecarService", sidecarServiceFields);

const sidecarTaskFields = {
  Name: str(),
  Driver: str(),
  User: str(),
  Config: map(any()),
  Env: map(str()),
  Resources: ref(ResourcesStruct),
  Meta: map(str()),
  KillTimeout: duration(),
  LogConfig: ref(LogConfigStruct),
  ShutdownDelay: duration(),
  KillSignal: str(),
  VolumeMounts: any(),
  Identities: refs(WorkloadIdentityStruct),
};
/** The task that runs a Connect sidecar. @public */
export interface SidecarTask extends Infer<typeof sidecarTaskFields> {}
/** The description of {@link SidecarTask}. @public */
export const SidecarTaskStruct = struct<SidecarTask>("SidecarTask", sidecarTaskFields);

const connectFields = {
  Native: bool(),
  Gateway: any(),
  SidecarService: ref(ConsulSidecarServiceStruct),
  SidecarTask: ref(SidecarTaskStruct),
};
/** Consul Connect of a service. @public */
export interface ConsulConnect extends Infer<typeof connectFields> {}
/** The description of {@link ConsulConnect}. @public */
export const ConsulConnectStruct = struct<ConsulConnect>("ConsulConnect", connectFields);

const serviceFields = {
  Name: str(),
  TaskName: str(),
  PortLabel: str(),
  AddressMode: str(),
  Address: str(),
  EnableTagOverride: bool(),
  Tags: strings(),
  CanaryTags: strings(),
  Checks: refs(ServiceCheckStruct),
  CheckRestart: submitted(ref(CheckRestartStruct)),
  Connect: ref(ConsulConnectStruct),
  Meta: map(str()),
  CanaryMeta: map(str()),
  Weights: ref(ServiceWeightsStruct),
  TaggedAddresses: map(str()),
  Namespace: str(),
  OnUpdate: str(),
  /** `nomad` or `consul`. */
  Provider: str(),
  Cluster: str(),
  Identity: ref(WorkloadIdentityStruct),
  Kind: str(),
};
/** A service that a group or task offers. @public */
export interface Service extends Infer<typeof serviceFields> {}
/** The description of {@link Service}. @public */
export const ServiceStruct = struct<Service>("Service", serviceFields);

const registrationFields = {
  ID: str(),
  ServiceName: str(),
  Namespace: str(),
  NodeID: str(),
  Datacenter: str(),
  JobID: str(),
  AllocID: str(),
  Tags: strings(),
  Address: str(),
  Port: int(),
  CreateIndex: int(),
  ModifyIndex: int(),
};
/** A service instance as the server lists it. @public */
export interface ServiceRegistration extends Infer<typeof registrationFields> {}
/** The description of {@link ServiceRegistration}. @public */
export const ServiceRegistrationStruct = struct<ServiceRegistration>("ServiceRegistration", registrationFields);
