import { any, bool, duration, map, str, struct, submitted, type Infer } from "../dsl/field.ts";
import { strings } from "./placement.ts";

const identityFields = {
  Name: str(),
  Audience: strings(),
  ChangeMode: str(),
  ChangeSignal: str(),
  Env: bool(),
  File: bool(),
  Filepath: str(),
  ServiceName: str(),
  TTL: duration(),
  ExtraClaims: map(str()),
};
/** A signed identity of a task or service. @public */
export interface WorkloadIdentity extends Infer<typeof identityFields> {}
/** The description of {@link WorkloadIdentity}. @public */
export const WorkloadIdentityStruct = struct<WorkloadIdentity>("WorkloadIdentity", identityFields);

const vaultFields = {
  Policies: submitted(strings()),
  Role: str(),
  Namespace: str(),
  Cluster: str(),
  Env: bool(),
  DisableFile: bool(),
  ChangeMode: str(),
  ChangeSignal: str(),
  AllowTokenExpiration: bool(),
};
/** The `vault` block of a task. @public */
export interface Vault extends Infer<typeof vaultFields> {}
/** The description of {@link Vault}. @public */
export const VaultStruct = struct<Vault>("Vault", vaultFields);

const consulFields = { Namespace: str(), Cluster: str(), Partition: str() };
/** The `consul` block of a task or group. @public */
export interface Consul extends Infer<typeof consulFields> {}
/** The description of {@link Consul}. @public */
export const ConsulStruct = struct<Consul>("Consul", consulFields);

const secretFields = { Name: str(), Provider: str(), Path: str(), Config: map(any()), Env: map(str()) };
/** A secret that is fetched before a task starts. @public */
export interface Secret extends Infer<typeof secretFields> {}
/** The description of {@link Secret}. @public */
export const SecretStruct = struct<Secret>("Secret", secretFields);
