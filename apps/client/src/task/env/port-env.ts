import type { AllocatedPortMapping, AllocNetworkStatus, NetworkResource, Port } from "@outrider/nomad-structs";

/** The variables of one port of the group. */
export function groupPortEnv(
  ports: readonly AllocatedPortMapping[],
  status: AllocNetworkStatus | null,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const port of ports) {
    const inside = port.To > 0 ? port.To : port.Value;
    setHostPort(env, port.Label, port.HostIP, port.Value);
    env[`NOMAD_ALLOC_PORT_${port.Label}`] = String(inside);
    env[`NOMAD_PORT_${port.Label}`] = String(inside);
    if (status === null || status.Address === "") continue;
    env[`NOMAD_ALLOC_INTERFACE_${port.Label}`] = status.InterfaceName;
    env[`NOMAD_ALLOC_IP_${port.Label}`] = status.Address;
    env[`NOMAD_ALLOC_ADDR_${port.Label}`] = hostPort(status.Address, inside);
  }
  return env;
}

/** The variables of old style networks inside a task's resources; a driver's port map may replace the inner ports. */
export function taskPortEnv(
  networks: readonly NetworkResource[],
  portMap: Readonly<Record<string, number>> | undefined,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const network of networks) {
    for (const port of portsOf(network)) {
      setHostPort(env, port.Label, network.IP, port.Value);
      env[`NOMAD_PORT_${port.Label}`] = String(portMap?.[port.Label] ?? (port.To > 0 ? port.To : port.Value));
      env[`${network.IP.includes(":") ? "NOMAD_IPv6_" : "NOMAD_IPv4_"}${port.Label}`] = network.IP;
    }
  }
  return env;
}

/** Where the old style ports of the other tasks of the group are. */
export function siblingPortEnv(task: string, networks: readonly NetworkResource[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const network of networks) {
    for (const port of portsOf(network)) {
      env[`NOMAD_ADDR_${task}_${port.Label}`] = hostPort(network.IP, port.Value);
      env[`NOMAD_IP_${task}_${port.Label}`] = network.IP;
      env[`NOMAD_PORT_${task}_${port.Label}`] = String(port.Value);
    }
  }
  return env;
}

function portsOf(network: NetworkResource): Port[] {
  return [...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])];
}

function setHostPort(env: Record<string, string>, label: string, ip: string, port: number): void {
  env[`NOMAD_IP_${label}`] = ip;
  env[`NOMAD_HOST_IP_${label}`] = ip;
  env[`NOMAD_ADDR_${label}`] = hostPort(ip, port);
  env[`NOMAD_HOST_ADDR_${label}`] = hostPort(ip, port);
  env[`NOMAD_HOST_PORT_${label}`] = String(port);
}

function hostPort(ip: string, port: number): string {
  return ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}
