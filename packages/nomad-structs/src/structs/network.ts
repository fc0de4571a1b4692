import { bool, int, map, ref, refs, str, struct, type Infer } from "../dsl/field.ts";
import { strings } from "./placement.ts";

const portFields = { Label: str(), Value: int(), To: int(), HostNetwork: str(), IgnoreCollision: bool() };
/** A port of a network block: `Value` is 0 until one is chosen. @public */
export interface Port extends Infer<typeof portFields> {}
/** The description of {@link Port}. @public */
export const PortStruct = struct<Port>("Port", portFields, { omitZero: true });

const dnsFields = { Servers: strings(), Searches: strings(), Options: strings() };
/** Name servers of a group. @public */
export interface DNSConfig extends Infer<typeof dnsFields> {}
/** The description of {@link DNSConfig}. @public */
export const DNSConfigStruct = struct<DNSConfig>("DNSConfig", dnsFields);

const cniFields = { Args: map(str()) };
/** Arguments of a CNI network. @public */
export interface CNIConfig extends Infer<typeof cniFields> {}
/** The description of {@link CNIConfig}. @public */
export const CNIConfigStruct = struct<CNIConfig>("CNIConfig", cniFields);

const networkFields = {
  Mode: str(),
  Device: str(),
  CIDR: str(),
  IP: str(),
  Hostname: str(),
  /** Megabits a second. */
  MBits: int(),
  DNS: ref(DNSConfigStruct),
  ReservedPorts: refs(PortStruct),
  DynamicPorts: refs(PortStruct),
  CNI: ref(CNIConfigStruct),
};
/** A network of a group, of a node or of an allocation. @public */
export interface NetworkResource extends Infer<typeof networkFields> {}
/** The description of {@link NetworkResource}. @public */
export const NetworkResourceStruct = struct<NetworkResource>("NetworkResource", networkFields, { omitZero: true });

const mappingFields = { Label: str(), Value: int(), To: int(), HostIP: str(), IgnoreCollision: bool() };
/** A port that an allocation got: `Value` on the host, `To` inside. @public */
export interface AllocatedPortMapping extends Infer<typeof mappingFields> {}
/** The description of {@link AllocatedPortMapping}. @public */
export const AllocatedPortMappingStruct = struct<AllocatedPortMapping>("AllocatedPortMapping", mappingFields, {
  omitZero: true,
});

const statusFields = {
  InterfaceName: str(),
  Address: str(),
  AddressIPv6: str(),
  DNS: ref(DNSConfigStruct),
};
/** Address of a group's own network. @public */
export interface AllocNetworkStatus extends Infer<typeof statusFields> {}
/** The description of {@link AllocNetworkStatus}. @public */
export const AllocNetworkStatusStruct = struct<AllocNetworkStatus>("AllocNetworkStatus", statusFields);
