import type { AllocatedPortMapping, NetworkResource, TaskGroup } from "@outrider/nomad-structs";
import type { Capacity } from "./node-usage.ts";

/** Ports of a group on a node, or which one could not be had. */
export type PortOffer =
  | { readonly networks: NetworkResource[] | null; readonly ports: AllocatedPortMapping[] | null }
  | { readonly exhausted: string };

/** Gives a group its static ports and free dynamic ones. `taken` is not changed. */
export function offerPorts(
  group: TaskGroup,
  capacity: Capacity,
  taken: ReadonlySet<number>,
  ip: string,
  random: () => number,
): PortOffer {
  if (group.Networks === null || group.Networks.length === 0) return { networks: null, ports: null };
  const used = new Set([...taken, ...capacity.reservedPorts]);
  const networks: NetworkResource[] = [];
  const ports: AllocatedPortMapping[] = [];
  for (const network of group.Networks) {
    for (const port of network.ReservedPorts ?? []) {
      if (used.has(port.Value)) return { exhausted: `network: reserved port collision ${port.Label}=${port.Value}` };
      if (port.IgnoreCollision !== true) used.add(port.Value);
      ports.push(mapping(port.Label, port.Value, port.To, ip, port.IgnoreCollision));
    }
    const dynamic: NonNullable<NetworkResource["DynamicPorts"]> = [];
    for (const port of network.DynamicPorts ?? []) {
      const value = freePort(capacity, used, random);
      if (value === undefined) return { exhausted: "network: dynamic port selection failed" };
      used.add(value);
      dynamic.push({ ...port, Value: value });
      ports.push(mapping(port.Label, value, port.To, ip, false));
    }
    networks.push({ ...network, IP: ip, DynamicPorts: network.DynamicPorts === null ? null : dynamic });
  }
  return { networks, ports: ports.length === 0 ? null : ports };
}

function mapping(label: string, value: number, to: number, ip: string, ignoreCollision: boolean): AllocatedPortMapping {
  return { Label: label, Value: value, To: to === -1 ? value : to, HostIP: ip, IgnoreCollision: ignoreCollision };
}

function freePort(capacity: Capacity, used: ReadonlySet<number>, random: () => number): number | undefined {
  const { minDynamicPort: min, maxDynamicPort: max } = capacity;
  const count = max - min + 1;
  // From a random place once around: finds every free port, and ports are not reused at once.
  const start = Math.floor(random() * count);
  for (let i = 0; i < count; i++) {
    const port = min + ((start + i) % count);
    if (!used.has(port)) return port;
  }
  return undefined;
}
