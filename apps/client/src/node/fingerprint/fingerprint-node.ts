import { createHash } from "node:crypto";
import type { Node } from "@outrider/nomad-structs";
import { make, NodeStruct } from "@outrider/nomad-structs";
import type { NodeIdentity } from "../node-identity.ts";
import { fingerprintCpu } from "./cpu.ts";
import { fingerprintMemory, fingerprintNetwork, fingerprintOs, fingerprintStorage } from "./host.ts";

/** Version of Nomad whose behaviour this client follows; jobs test it by `attr.nomad.version`. */
export const NOMAD_VERSION = "2.0.5";

/** What a user may say about the node. */
export interface NodeSettings {
  readonly name: string;
  readonly datacenter: string;
  readonly nodeClass: string;
  readonly nodePool: string;
  readonly meta: Readonly<Record<string, string>>;
  /** `host:port`, or `unix://<path>`. */
  readonly httpAddress: string;
  readonly allocRoot: string;
  readonly outriderVersion: string;
  /** Address for ports of groups; default: found on the machine. */
  readonly networkAddress?: string;
  readonly reserved?: {
    readonly cpu?: number;
    readonly memoryMB?: number;
    readonly diskMB?: number;
    readonly ports?: string;
  };
  readonly minDynamicPort?: number;
  readonly maxDynamicPort?: number;
  /** MHz; replaces what was found. */
  readonly cpuTotalCompute?: number;
  readonly memoryTotalMB?: number;
}

/** Looks at the machine and describes it as a node. */
export async function fingerprintNode(identity: NodeIdentity, settings: NodeSettings): Promise<Node> {
  const [cpu, memory, os, storage] = await Promise.all([
    fingerprintCpu(),
    fingerprintMemory(),
    fingerprintOs(),
    fingerprintStorage(settings.allocRoot),
  ]);
  const network = fingerprintNetwork(settings.networkAddress);
  const compute = settings.cpuTotalCompute ?? cpu.totalMhz;
  const node = make(NodeStruct, {
    ID: identity.id,
    SecretID: identity.secretId,
    Datacenter: settings.datacenter,
    Name: settings.name,
    NodeClass: settings.nodeClass,
    NodePool: settings.nodePool,
    HTTPAddr: settings.httpAddress,
    Attributes: {
      ...os,
      ...cpu.attributes,
      "cpu.totalcompute": String(compute),
      "cpu.usablecompute": String(compute - (settings.reserved?.cpu ?? 0)),
      ...memory.attributes,
      ...storage.attributes,
      "unique.network.ip-address": network.ip,
      "unique.advertise.address": settings.httpAddress,
      "nomad.version": NOMAD_VERSION,
      "nomad.service_discovery": "true",
      "outrider.version": settings.outriderVersion,
    },
    Meta: { ...settings.meta },
    Links: {},
    HostVolumes: {},
    CSIControllerPlugins: {},
    CSINodePlugins: {},
    Drivers: {},
    Status: "initializing",
    SchedulingEligibility: "eligible",
    NodeResources: {
      Cpu: {
        CpuShares: compute,
        TotalCpuCores: cpu.cores,
        ReservableCpuCores: Array.from({ length: cpu.cores }, (_, i) => i),
      },
      Processors: cpu.processors,
      Memory: { MemoryMB: settings.memoryTotalMB ?? memory.memoryMB },
      Disk: { DiskMB: storage.diskMB },
      Devices: null,
      NodeNetworks: network.nodeNetworks,
      Networks: network.networks,
      MinDynamicPort: settings.minDynamicPort ?? 20_000,
      MaxDynamicPort: settings.maxDynamicPort ?? 32_000,
    },
    ReservedResources: {
      Cpu: { CpuShares: settings.reserved?.cpu ?? 0, ReservedCpuCores: null },
      Memory: { MemoryMB: settings.reserved?.memoryMB ?? 0 },
      Disk: { DiskMB: settings.reserved?.diskMB ?? 0 },
      Networks: { ReservedHostPorts: settings.reserved?.ports ?? "" },
    },
  });
  return { ...node, ComputedClass: computedClass(node) };
}

/** Nodes with the same class look the same to jobs: everything that is not unique goes in. */
export function computedClass(node: Node): string {
  const common = (values: Readonly<Record<string, string>> | null): Array<[string, string]> =>
    Object.entries(values ?? {})
      .filter(([key]) => !key.startsWith("unique."))
      .sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([
    node.Datacenter,
    node.NodeClass,
    node.NodePool,
    common(node.Attributes),
    common(node.Meta),
  ]);
  return `v1:${createHash("sha256").update(text).digest().readBigUInt64BE(0)}`;
}
