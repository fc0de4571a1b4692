/** What a driver and its agent say about themselves, between the contract and protobuf messages. */
import { create } from "@bufbuild/protobuf";
import type {
  DriverAttribute,
  DriverCapabilities,
  DriverFingerprint,
  DriverHealth,
  DriverTaskEvent,
  FsIsolation,
  MountConfigs,
} from "@outrider/nomad-structs";
import type { NodeTopology, NomadDriverConfig, PluginInfo } from "../contract/driver.ts";
import {
  type NomadConfig,
  NomadConfigSchema,
  type PluginInfoResponse,
  PluginInfoResponseSchema,
} from "../gen/base_pb.js";
import {
  type DriverCapabilities as CapabilitiesMessage,
  DriverCapabilitiesSchema,
  type DriverTaskEvent as DriverTaskEventMessage,
  DriverTaskEventSchema,
  type FingerprintResponse,
  FingerprintResponseSchema,
} from "../gen/driver_pb.js";
import { type Attribute, AttributeSchema } from "../gen/structs_pb.js";
import { fromTimestamp, nameOf, toTimestamp, toUnsigned } from "./scalars.ts";
import { NETWORK_MODE } from "./task.ts";

const PLUGIN_TYPE = { unknown: 0, driver: 2, device: 3 } as const satisfies Record<PluginInfo["type"], number>;
const FS_ISOLATION = { none: 0, chroot: 1, image: 2, unveil: 3 } as const satisfies Record<FsIsolation, number>;
const MOUNTS = { any: 0, none: 1 } as const satisfies Record<MountConfigs, number>;
const HEALTH = { undetected: 0, unhealthy: 1, healthy: 2 } as const satisfies Record<DriverHealth, number>;
const GRADE = { performance: 0, efficiency: 1 } as const;

const MAX_INT64 = 2n ** 63n - 1n;

export function toPluginInfo(info: PluginInfo): PluginInfoResponse {
  return create(PluginInfoResponseSchema, {
    type: PLUGIN_TYPE[info.type],
    pluginApiVersions: [...info.apiVersions],
    pluginVersion: info.version,
    name: info.name,
  });
}

export function fromPluginInfo(message: PluginInfoResponse): PluginInfo {
  return {
    name: message.name,
    type: nameOf(PLUGIN_TYPE, message.type, "unknown"),
    version: message.pluginVersion,
    apiVersions: message.pluginApiVersions,
  };
}

export function toNomadConfig(config: NomadDriverConfig): NomadConfig {
  const { topology } = config;
  return create(NomadConfigSchema, {
    driver: {
      ClientMinPort: config.clientMinPort,
      ClientMaxPort: config.clientMaxPort,
      ...(topology === undefined
        ? {}
        : {
            Topology: {
              nodeIds: [...topology.nodeIds],
              ...(topology.distances === undefined
                ? {}
                : { distances: { dimension: topology.distances.dimension, values: [...topology.distances.values] } }),
              cores: topology.cores.map((core) => ({
                socketId: core.socketId,
                nodeId: core.nodeId,
                coreId: core.coreId,
                coreGrade: GRADE[core.grade],
                disable: core.disable,
                baseSpeed: toUnsigned(core.baseSpeedMhz),
                maxSpeed: toUnsigned(core.maxSpeedMhz),
                guessSpeed: toUnsigned(core.guessSpeedMhz),
              })),
              overrideTotalCompute: toUnsigned(topology.overrideTotalCompute),
              overrideWitholdCompute: toUnsigned(topology.overrideWithheldCompute),
            },
          }),
    },
  });
}

/** Every part may be absent: during validation all of it, without NUMA the distances. */
export function fromNomadConfig(message: NomadConfig | undefined): NomadDriverConfig | undefined {
  const driver = message?.driver;
  if (driver === undefined) return undefined;
  const topology = driver.Topology;
  return {
    clientMinPort: driver.ClientMinPort,
    clientMaxPort: driver.ClientMaxPort,
    ...(topology === undefined
      ? {}
      : {
          topology: {
            nodeIds: topology.nodeIds,
            ...(topology.distances === undefined
              ? {}
              : { distances: { dimension: topology.distances.dimension, values: topology.distances.values } }),
            cores: topology.cores.map((core): NodeTopology["cores"][number] => ({
              socketId: core.socketId,
              nodeId: core.nodeId,
              coreId: core.coreId,
              grade: nameOf(GRADE, core.coreGrade, "performance"),
              disable: core.disable,
              baseSpeedMhz: Number(core.baseSpeed),
              maxSpeedMhz: Number(core.maxSpeed),
              guessSpeedMhz: Number(core.guessSpeed),
            })),
            overrideTotalCompute: Number(topology.overrideTotalCompute),
            overrideWithheldCompute: Number(topology.overrideWitholdCompute),
          },
        }),
  };
}

export function toCapabilities(capabilities: DriverCapabilities): CapabilitiesMessage {
  return create(DriverCapabilitiesSchema, {
    sendSignals: capabilities.sendSignals,
    exec: capabilities.exec,
    fsIsolation: FS_ISOLATION[capabilities.fsIsolation],
    networkIsolationModes: capabilities.networkIsolationModes.map((mode) => NETWORK_MODE[mode]),
    mustCreateNetwork: capabilities.mustCreateNetwork,
    mountConfigs: MOUNTS[capabilities.mountConfigs],
    disableLogCollection: capabilities.disableLogCollection,
    dynamicWorkloadUsers: capabilities.dynamicWorkloadUsers,
  });
}

/** An absent message means that the driver can do nothing special. */
export function fromCapabilities(message: CapabilitiesMessage | undefined): DriverCapabilities {
  return {
    sendSignals: message?.sendSignals ?? false,
    exec: message?.exec ?? false,
    fsIsolation: nameOf(FS_ISOLATION, message?.fsIsolation ?? 0, "none"),
    networkIsolationModes: (message?.networkIsolationModes ?? []).map((mode) => nameOf(NETWORK_MODE, mode, "host")),
    mustCreateNetwork: message?.mustCreateNetwork ?? false,
    mountConfigs: nameOf(MOUNTS, message?.mountConfigs ?? 0, "any"),
    disableLogCollection: message?.disableLogCollection ?? false,
    dynamicWorkloadUsers: message?.dynamicWorkloadUsers ?? false,
  };
}

function toAttribute({ value, unit = "" }: DriverAttribute): Attribute {
  const message = create(AttributeSchema, { unit });
  if (typeof value === "string") message.value = { case: "stringVal", value };
  else if (typeof value === "boolean") message.value = { case: "boolVal", value };
  else if (typeof value === "number" && !Number.isSafeInteger(value)) message.value = { case: "floatVal", value };
  else {
    const big = BigInt(value);
    // Beyond 64 bits only the text is right.
    if (big > MAX_INT64 || big < -MAX_INT64 - 1n) message.value = { case: "stringVal", value: String(big) };
    else message.value = { case: "intVal", value: big };
  }
  return message;
}

function fromAttribute({ value, unit }: Attribute): DriverAttribute {
  const rest = unit === "" ? {} : { unit };
  if (value.case === undefined) return { value: "", ...rest };
  if (value.case === "intVal" && value.value === BigInt(Number(value.value))) {
    const number = Number(value.value);
    if (Number.isSafeInteger(number)) return { value: number, ...rest };
  }
  return { value: value.value, ...rest };
}

export function toFingerprint(fingerprint: DriverFingerprint): FingerprintResponse {
  const message = create(FingerprintResponseSchema, {
    health: HEALTH[fingerprint.health],
    healthDescription: fingerprint.healthDescription,
    err: fingerprint.error ?? "",
  });
  for (const [key, value] of Object.entries(fingerprint.attributes)) message.attributes[key] = toAttribute(value);
  return message;
}

export function fromFingerprint(message: FingerprintResponse): DriverFingerprint {
  return {
    attributes: Object.fromEntries(
      Object.entries(message.attributes).map(([key, value]) => [key, fromAttribute(value)]),
    ),
    health: nameOf(HEALTH, message.health, "undetected"),
    healthDescription: message.healthDescription,
    ...(message.err === "" ? {} : { error: message.err }),
  };
}

export function toTaskEvent(event: DriverTaskEvent): DriverTaskEventMessage {
  return create(DriverTaskEventSchema, {
    taskId: event.taskId,
    allocId: event.allocId,
    taskName: event.taskName,
    timestamp: toTimestamp(event.timestampMs * 1e6),
    message: event.message,
    annotations: { ...event.annotations },
  });
}

export function fromTaskEvent(message: DriverTaskEventMessage): DriverTaskEvent {
  return {
    taskId: message.taskId,
    allocId: message.allocId,
    taskName: message.taskName,
    timestampMs: fromTimestamp(message.timestamp) / 1e6,
    message: message.message,
    annotations: message.annotations,
  };
}
