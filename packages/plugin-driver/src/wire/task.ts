/** Tasks, handles and results between the contract and protobuf messages. */
import { create } from "@bufbuild/protobuf";
import type {
  DriverNetwork,
  DriverPortMapping,
  DriverResources,
  DriverTaskState,
  ExitResult,
  NetworkIsolationMode,
  NetworkIsolationSpec,
} from "@outrider/nomad-structs";
import type { InspectedTask, TaskConfig, TaskHandle } from "../contract/driver.ts";
import {
  type ExitResult as ExitResultMessage,
  ExitResultSchema,
  type InspectTaskResponse,
  InspectTaskResponseSchema,
  type NetworkIsolationSpec as NetworkIsolationSpecMessage,
  NetworkIsolationSpecSchema,
  type NetworkOverride,
  NetworkOverrideSchema,
  type Resources,
  ResourcesSchema,
  type TaskConfig as TaskConfigMessage,
  TaskConfigSchema,
  type TaskHandle as TaskHandleMessage,
  TaskHandleSchema,
} from "../gen/driver_pb.js";
import { fromTimestamp, nameOf, toBigInt, toTimestamp } from "./scalars.ts";

const NS_PER_MS = 1e6;

export const TASK_STATE = { unknown: 0, running: 1, exited: 2 } as const satisfies Record<DriverTaskState, number>;
export const NETWORK_MODE = { host: 0, group: 1, task: 2, none: 3 } as const satisfies Record<
  NetworkIsolationMode,
  number
>;

/** The messages that configs came from: a handle returns the very config it was started with, fields unknown to us included. */
const origins = new WeakMap<TaskConfig, TaskConfigMessage>();

export function toNetworkSpec(spec: NetworkIsolationSpec): NetworkIsolationSpecMessage {
  return create(NetworkIsolationSpecSchema, {
    mode: NETWORK_MODE[spec.mode],
    path: spec.path,
    labels: { ...spec.labels },
    ...(spec.hostsConfig === undefined ? {} : { hostsConfig: { ...spec.hostsConfig } }),
  });
}

export function fromNetworkSpec(message: NetworkIsolationSpecMessage): NetworkIsolationSpec {
  const { hostsConfig } = message;
  return {
    mode: nameOf(NETWORK_MODE, message.mode, "host"),
    path: message.path,
    labels: message.labels,
    ...(hostsConfig === undefined
      ? {}
      : { hostsConfig: { hostname: hostsConfig.hostname, address: hostsConfig.address } }),
  };
}

function toResources(resources: DriverResources): Resources {
  const { linux } = resources;
  return create(ResourcesSchema, {
    allocatedResources: {
      cpu: { cpuShares: toBigInt(resources.cpuShares) },
      memory: { memoryMb: toBigInt(resources.memoryMb), memoryMaxMb: toBigInt(resources.memoryMaxMb) },
    },
    ...(linux === undefined
      ? {}
      : {
          linuxResources: {
            cpuPeriod: toBigInt(linux.cpuPeriod),
            cpuQuota: toBigInt(linux.cpuQuota),
            cpuShares: toBigInt(linux.cpuShares),
            memoryLimitBytes: toBigInt(linux.memoryLimitBytes),
            oomScoreAdj: toBigInt(linux.oomScoreAdj),
            cpusetCpus: linux.cpusetCpus,
            PercentTicks: linux.percentTicks,
            cpusetCgroup: linux.cpusetCgroup,
          },
        }),
    ports: resources.ports.map((port) => ({ ...port })),
  });
}

function fromResources(message: Resources): DriverResources {
  const { allocatedResources: allocated, linuxResources: linux } = message;
  return {
    cpuShares: Number(allocated?.cpu?.cpuShares ?? 0),
    memoryMb: Number(allocated?.memory?.memoryMb ?? 0),
    memoryMaxMb: Number(allocated?.memory?.memoryMaxMb ?? 0),
    ...(linux === undefined
      ? {}
      : {
          linux: {
            cpuPeriod: Number(linux.cpuPeriod),
            cpuQuota: Number(linux.cpuQuota),
            cpuShares: Number(linux.cpuShares),
            memoryLimitBytes: Number(linux.memoryLimitBytes),
            oomScoreAdj: Number(linux.oomScoreAdj),
            cpusetCpus: linux.cpusetCpus,
            percentTicks: linux.PercentTicks,
            cpusetCgroup: linux.cpusetCgroup,
          },
        }),
    ports: message.ports.map(({ label, value, to, hostIp }): DriverPortMapping => ({
      label,
      value,
      to,
      hostIp,
    })),
  };
}

export function toTaskConfig(config: TaskConfig): TaskConfigMessage {
  const origin = origins.get(config);
  if (origin !== undefined) return origin;
  return create(TaskConfigSchema, {
    id: config.id,
    name: config.name,
    msgpackDriverConfig: config.msgpackDriverConfig,
    env: { ...config.env },
    deviceEnv: { ...config.deviceEnv },
    ...(config.resources === undefined ? {} : { resources: toResources(config.resources) }),
    mounts: config.mounts.map((mount) => ({ ...mount })),
    devices: config.devices.map((device) => ({ ...device })),
    user: config.user,
    allocDir: config.allocDir,
    stdoutPath: config.stdoutPath,
    stderrPath: config.stderrPath,
    taskGroupName: config.taskGroupName,
    jobName: config.jobName,
    allocId: config.allocId,
    ...(config.networkIsolation === undefined ? {} : { networkIsolationSpec: toNetworkSpec(config.networkIsolation) }),
    ...(config.dns === undefined
      ? {}
      : {
          dns: {
            servers: [...config.dns.servers],
            searches: [...config.dns.searches],
            options: [...config.dns.options],
          },
        }),
    jobId: config.jobId,
    namespace: config.namespace,
    nodeName: config.nodeName,
    nodeId: config.nodeId,
    parentJobId: config.parentJobId,
  });
}

/** @param cleanEnv variables that must not reach the task */
export function fromTaskConfig(message: TaskConfigMessage, cleanEnv: readonly string[] = []): TaskConfig {
  const env: Record<string, string> = { ...message.env };
  for (const name of cleanEnv) delete env[name];
  const { networkIsolationSpec, dns } = message;
  const config: TaskConfig = {
    id: message.id,
    name: message.name,
    msgpackDriverConfig: message.msgpackDriverConfig,
    env,
    deviceEnv: message.deviceEnv,
    ...(message.resources === undefined ? {} : { resources: fromResources(message.resources) }),
    mounts: message.mounts.map(({ taskPath, hostPath, readonly, propagationMode, selinuxLabel, requestName }) => ({
      taskPath,
      hostPath,
      readonly,
      propagationMode,
      selinuxLabel,
      requestName,
    })),
    devices: message.devices.map(({ taskPath, hostPath, cgroupPermissions }) => ({
      taskPath,
      hostPath,
      cgroupPermissions,
    })),
    user: message.user,
    allocDir: message.allocDir,
    stdoutPath: message.stdoutPath,
    stderrPath: message.stderrPath,
    taskGroupName: message.taskGroupName,
    jobName: message.jobName,
    allocId: message.allocId,
    ...(networkIsolationSpec === undefined ? {} : { networkIsolation: fromNetworkSpec(networkIsolationSpec) }),
    ...(dns === undefined ? {} : { dns: { servers: dns.servers, searches: dns.searches, options: dns.options } }),
    jobId: message.jobId,
    namespace: message.namespace,
    nodeName: message.nodeName,
    nodeId: message.nodeId,
    parentJobId: message.parentJobId,
  };
  origins.set(config, message);
  return config;
}

export function toTaskHandle(handle: TaskHandle, withConfig = true): TaskHandleMessage {
  return create(TaskHandleSchema, {
    version: handle.version,
    ...(withConfig ? { config: toTaskConfig(handle.config) } : {}),
    state: TASK_STATE[handle.state],
    driverState: handle.driverState,
  });
}

/** A handle without a config gets the one that was sent; undefined when there is none: nothing could ever be recovered from it. */
export function fromTaskHandle(
  message: TaskHandleMessage | undefined,
  cleanEnv: readonly string[] = [],
  sent?: TaskConfig,
): TaskHandle | undefined {
  if (message === undefined) return undefined;
  const config = message.config === undefined ? sent : fromTaskConfig(message.config, cleanEnv);
  if (config === undefined) return undefined;
  return {
    version: message.version,
    config,
    state: nameOf(TASK_STATE, message.state, "unknown"),
    driverState: message.driverState,
  };
}

export function toExitResult(result: ExitResult): ExitResultMessage {
  return create(ExitResultSchema, {
    exitCode: result.exitCode,
    signal: result.signal,
    oomKilled: result.oomKilled,
  });
}

export function fromExitResult(message: ExitResultMessage, error = ""): ExitResult {
  const { exitCode, signal, oomKilled } = message;
  return { exitCode, signal, oomKilled, ...(error === "" ? {} : { error }) };
}

export function toNetworkOverride(network: DriverNetwork): NetworkOverride {
  return create(NetworkOverrideSchema, {
    portMap: { ...network.portMap },
    addr: network.address,
    autoAdvertise: network.autoAdvertise,
  });
}

export function fromNetworkOverride(message: NetworkOverride): DriverNetwork {
  return { portMap: message.portMap, address: message.addr, autoAdvertise: message.autoAdvertise };
}

/** Fills every part that a Go host dereferences without a check. */
export function toInspectResponse(answer: InspectedTask): InspectTaskResponse {
  const { status, network } = answer;
  return create(InspectTaskResponseSchema, {
    task: {
      id: status.id,
      name: status.name,
      state: TASK_STATE[status.state],
      startedAt: toTimestamp((status.startedAtMs ?? 0) * NS_PER_MS),
      completedAt: toTimestamp((status.completedAtMs ?? 0) * NS_PER_MS),
      result: status.exitResult === undefined ? create(ExitResultSchema) : toExitResult(status.exitResult),
    },
    driver: { attributes: { ...status.attributes } },
    ...(network === undefined ? {} : { networkOverride: toNetworkOverride(network) }),
  });
}

/** Undefined when the answer holds no task. */
export function fromInspectResponse(message: InspectTaskResponse): InspectedTask | undefined {
  const { task, networkOverride } = message;
  if (task === undefined) return undefined;
  const startedAtMs = fromTimestamp(task.startedAt) / NS_PER_MS;
  const completedAtMs = fromTimestamp(task.completedAt) / NS_PER_MS;
  const state = nameOf(TASK_STATE, task.state, "unknown");
  return {
    status: {
      id: task.id,
      name: task.name,
      state,
      ...(startedAtMs === 0 ? {} : { startedAtMs }),
      ...(completedAtMs === 0 ? {} : { completedAtMs }),
      // A Go driver always sends a result, zero while the task runs.
      ...(task.result === undefined || state === "running" ? {} : { exitResult: fromExitResult(task.result) }),
      attributes: message.driver?.attributes ?? {},
    },
    ...(networkOverride === undefined ? {} : { network: fromNetworkOverride(networkOverride) }),
  };
}
