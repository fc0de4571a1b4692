import type { Allocation, Service } from "@outrider/nomad-structs";

/** Where a service is reached. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/** Where a port label, or a port number, of a service leads; undefined when the allocation has no such port. */
export function serviceAddress(
  alloc: Allocation,
  service: Service,
  portLabel: string,
  replace: (text: string) => string,
): ServiceAddress | undefined {
  const label = replace(portLabel);
  const ports = alloc.AllocatedResources?.Shared.Ports ?? [];
  const found = ports.find((p) => p.Label === label);
  const host = replace(service.Address);
  if (found !== undefined) return { host: host || found.HostIP || "127.0.0.1", port: found.Value };
  const literal = /^\d{1,5}$/.test(label) ? Number(label) : 0;
  if (literal > 0 && literal < 65_536) return { host: host || ports[0]?.HostIP || "127.0.0.1", port: literal };
  return undefined;
}
