import { make, NetworkResourceStruct, type Input, type NetworkResource, type Port } from "@outrider/nomad-structs";

const ports = (list: Port[] | null): Port[] | null =>
  list?.map((port) => ({ ...port, HostNetwork: port.HostNetwork === "" ? "default" : port.HostNetwork })) ?? null;

/** Networks with the default host network on every port. */
export function canonicalNetworks(
  given: readonly (Input<NetworkResource> | null)[] | null | undefined,
): NetworkResource[] | null {
  if (given === null || given === undefined) return null;
  return given.map((one) => {
    const network = make(NetworkResourceStruct, one ?? {});
    return { ...network, ReservedPorts: ports(network.ReservedPorts), DynamicPorts: ports(network.DynamicPorts) };
  });
}
