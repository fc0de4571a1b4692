import type { NetworkResource, Port } from "@outrider/nomad-structs";
import type { Report } from "./report.ts";

const MAX_PORT = 65_535;
const LABEL = /^[A-Za-z0-9_-]{1,128}$/;

function checkPort(port: Port, isStatic: boolean, r: Report): void {
  if (!LABEL.test(port.Label)) {
    r.error(
      "port-label",
      "Label",
      port.Label,
      `port label ${JSON.stringify(port.Label)} may hold letters, digits, _ and - only`,
    );
  }
  if (isStatic && (port.Value < 1 || port.Value > MAX_PORT)) {
    r.error(
      "port-range",
      "Value",
      port.Value,
      `port ${port.Label} must be between 1 and ${MAX_PORT}, got ${port.Value}`,
    );
  }
  if (port.To < -1 || port.To > MAX_PORT) {
    r.error(
      "port-to-range",
      "To",
      port.To,
      `"to" of port ${port.Label} must be between -1 and ${MAX_PORT}, got ${port.To}`,
    );
  }
}

/** Networks of a group, or of a task in the older style. */
export function checkNetworks(list: readonly NetworkResource[] | null, r: Report): void {
  const networks = list ?? [];
  if (networks.length > 1) r.error("network-count", "Networks", networks.length, "only one network block is allowed");
  for (const [i, network] of networks.entries()) {
    const at = r.at(`Networks[${i}]`);
    const labels = new Set<string>();
    const statics = new Map<string, string>();
    const ports = [
      ...(network.ReservedPorts ?? []).map((p, k) => [p, true, `ReservedPorts[${k}]`] as const),
      ...(network.DynamicPorts ?? []).map((p, k) => [p, false, `DynamicPorts[${k}]`] as const),
    ];
    for (const [port, isStatic, key] of ports) {
      const here = at.at(key);
      checkPort(port, isStatic, here);
      if (labels.has(port.Label)) {
        here.error(
          "port-label-duplicate",
          "Label",
          port.Label,
          `port label ${JSON.stringify(port.Label)} is used twice`,
        );
      }
      labels.add(port.Label);
      if (!isStatic || port.IgnoreCollision) continue;
      const where = `${port.HostNetwork}:${port.Value}`;
      const other = statics.get(where);
      if (other !== undefined) {
        here.error(
          "port-collision",
          "Value",
          port.Value,
          `ports ${other} and ${port.Label} both ask for ${port.Value}`,
        );
      }
      statics.set(where, port.Label);
    }
  }
}

/** Labels of all ports of some networks. */
export function portLabels(list: readonly NetworkResource[] | null): Set<string> {
  const ports = (list ?? []).flatMap((n) => [...(n.ReservedPorts ?? []), ...(n.DynamicPorts ?? [])]);
  return new Set(ports.map((port) => port.Label));
}
